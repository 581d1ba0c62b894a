package rollcall.react;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reacts to each change of an absence exactly once in effect, from the topic `absence-changes`, until SIGTERM.
 *
 * <pre>java -jar target/react-once.jar consumer.properties reactions.sqlite [group]</pre>
 *
 * The file of properties is the consumer's: addresses and the deserialiser of the values. ROLLCALL_TOPICS is
 * {@code <prefix>.<tenant>}, default rollcall.north; TOO_LATE_AFTER_HOURS, default 24: no message about an absence that
 * ended longer ago.
 */
public final class ReactOnce {
  private ReactOnce() {}

  public static void main(String[] args) throws Exception {
    String topic = System.getenv().getOrDefault("ROLLCALL_TOPICS", "rollcall.north") + ".absence-changes";
    long hours = Long.parseLong(System.getenv().getOrDefault("TOO_LATE_AFTER_HOURS", "24"));
    Properties settings = settings(Path.of(args[0]), args.length > 2 ? args[2] : "react-once-java");
    try (var reactions = new Reactions(args[1], Duration.ofHours(hours));
        var consumer = new KafkaConsumer<String, GenericRecord>(settings)) {
      Thread main = Thread.currentThread();
      Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(consumer, main)));
      reactions.send(); // what a crash may have left
      consumer.subscribe(List.of(topic), whereTheDatabaseIs(consumer, reactions));
      while (true) {
        reactions.take(consumer.poll(Duration.ofSeconds(1)));
        reactions.send();
      }
    } catch (WakeupException stopped) {
      // SIGTERM or Ctrl-C
    }
  }

  private static void stop(KafkaConsumer<?, ?> consumer, Thread main) {
    consumer.wakeup();
    try {
      main.join();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private static Properties settings(Path file, String group) throws IOException {
    Properties settings = new Properties();
    try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      settings.load(reader);
    }
    settings.put("group.id", group);
    settings.put("key.deserializer", StringDeserializer.class.getName());
    // The default would be read_uncommitted.
    settings.put("isolation.level", "read_committed");
    settings.put("auto.offset.reset", "earliest");
    settings.put("enable.auto.commit", "false");
    settings.put("allow.auto.create.topics", "false");
    return settings;
  }

  /** The database, not Kafka, says where to go on. */
  private static ConsumerRebalanceListener whereTheDatabaseIs(KafkaConsumer<?, ?> consumer, Reactions reactions) {
    return new ConsumerRebalanceListener() {
      @Override
      public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
        for (TopicPartition partition : partitions) {
          long stored = reactions.position(partition.topic(), partition.partition());
          // Behind the end: the topic was lost and is filled again. What comes again is `snapshot`, or known by its ce_id.
          if (stored > ends.get(partition)) {
            reactions.forgetPosition(partition.topic(), partition.partition());
            stored = 0;
          }
          consumer.seek(partition, stored);
        }
      }

      @Override
      public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
    };
  }
}
