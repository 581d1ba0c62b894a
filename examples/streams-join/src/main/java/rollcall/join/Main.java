package rollcall.join;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * Runs the join until SIGTERM, configured by environment variables. Start the same program several times to share the work.
 *
 * <ul>
 *   <li>ROLLCALL_KAFKA_BROKERS, default localhost:9092; ROLLCALL_REGISTRY_URL, default http://localhost:8081
 *   <li>JOIN_TOPICS: {@code <prefix>.<tenant>}, default rollcall.north
 *   <li>JOIN_APPLICATION_ID, default {@code <JOIN_TOPICS>.join}: names consumer group, transactions, internal topics.
 *       Under another id the join reads everything again
 *   <li>JOIN_STATE_DIR: where the stores are, default {@code <temporary folder>/kafka-streams}; one for each instance
 *   <li>JOIN_PARTITIONS, default 6: the greatest number of instances. Do not change it under the same application id
 *   <li>JOIN_SETTINGS: a file of further Kafka settings (security, session.timeout.ms, replication.factor, …)
 * </ul>
 *
 * It exits with 1 when it fails. A supervisor, such as Kubernetes, must then start it again.
 */
public final class Main {
  /**
   * Kafka removes old values only from closed segments, and by default it keeps a segment open for a week. So that removed
   * values do not stay readable for that long, a segment is closed after a day, and compacted within a day.
   */
  private static final Map<String, String> ERASURE =
      Map.of(TopicConfig.SEGMENT_MS_CONFIG, "86400000", TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG, "86400000");

  private Main() {}

  public static void main(String[] args) throws Exception {
    String name = setting("JOIN_TOPICS", "rollcall.north");
    int partitions = Integer.parseInt(setting("JOIN_PARTITIONS", "6"));
    JoinTopics topics = JoinTopics.of(name);
    Properties settings = settings(name);
    createOutput(topics.output(), partitions, settings);
    var registry = new RegistryClient(setting("ROLLCALL_REGISTRY_URL", "http://localhost:8081"));
    KafkaStreams streams = new KafkaStreams(JoinTopology.build(topics, registry, partitions), settings);

    CountDownLatch ended = new CountDownLatch(1);
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    streams.setStateListener(
        (now, before) -> {
          System.out.println(now);
          if (now == KafkaStreams.State.ERROR || now == KafkaStreams.State.NOT_RUNNING) ended.countDown();
        });
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
    ended.await();
    // The hook closes the streams. If a signal has already begun the exit, calling exit() here would wait for itself.
    if (streams.state() == KafkaStreams.State.ERROR) System.exit(1);
  }

  private static Properties settings(String name) throws IOException {
    Properties settings = new Properties();
    ERASURE.forEach((key, value) -> settings.put(StreamsConfig.topicPrefix(key), value));
    String file = setting("JOIN_SETTINGS", "");
    if (!file.isEmpty()) {
      try (Reader reader = Files.newBufferedReader(Path.of(file))) {
        settings.load(reader);
      }
    }
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, setting("JOIN_APPLICATION_ID", name + ".join"));
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, setting("ROLLCALL_KAFKA_BROKERS", "localhost:9092"));
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    String folder = setting("JOIN_STATE_DIR", "");
    if (!folder.isEmpty()) settings.put(StreamsConfig.STATE_DIR_CONFIG, folder);
    return settings;
  }

  /** Brokers need not create topics by themselves, and this one must be compacted. Its replication is the brokers' default. */
  private static void createOutput(String topic, int partitions, Properties settings) throws Exception {
    Map<String, String> configs = new HashMap<>(ERASURE);
    configs.put(TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_COMPACT);
    NewTopic wanted = new NewTopic(topic, Optional.of(partitions), Optional.empty()).configs(configs);
    try (Admin admin = Admin.create(settings)) {
      admin.createTopics(List.of(wanted)).all().get();
    } catch (ExecutionException error) {
      if (!(error.getCause() instanceof TopicExistsException)) throw error;
    }
  }

  private static String setting(String name, String preset) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? preset : value;
  }
}
