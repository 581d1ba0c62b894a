package rollcall.react;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import rollcall.AbsenceChange;

/**
 * Reacts to each change of an absence exactly once in effect, from the topic `absence-changes`, until SIGTERM.
 *
 * <pre>java -jar target/react-once.jar consumer.properties reactions.sqlite [group]</pre>
 *
 * The file has the properties of the consumer: addresses, and the deserialiser of the values. ROLLCALL_TOPICS is
 * {@code <prefix>.<tenant>}, by default rollcall.north. The program sends no message about an absence that ended more than
 * TOO_LATE_AFTER_HOURS ago, by default 24.
 *
 * Positions are valid only in one life of the topic. If the topic was recreated, or lost records, the program ends with 1. The next
 * start forgets the positions and reads from the beginning.
 */
public final class ReactOnce {
  private static final String COLLECTION = "absence-changes";

  private ReactOnce() {}

  public static void main(String[] args) throws Exception {
    // Avro loads only classes that a program trusts: those that Maven makes of Rollcall's schemas.
    System.setProperty("org.apache.avro.SERIALIZABLE_PACKAGES", "rollcall");
    String topics = System.getenv().getOrDefault("ROLLCALL_TOPICS", "rollcall.north");
    String topic = topics + "." + COLLECTION;
    long hours = Long.parseLong(System.getenv().getOrDefault("TOO_LATE_AFTER_HOURS", "24"));
    Properties settings = settings(Path.of(args[0]), args.length > 2 ? args[2] : "react-once-java");
    try (var reactions = new Reactions(args[1], Duration.ofHours(hours));
        var life = new TopicLife(settings, topics, COLLECTION);
        var consumer = new KafkaConsumer<String, AbsenceChange>(settings)) {
      Thread main = Thread.currentThread();
      Thread stop = new Thread(() -> stop(life, consumer, main));
      Runtime.getRuntime().addShutdownHook(stop);
      reactions.send(); // the messages that a crash may have left unsent
      String id = life.first();
      reactions.beginLife(id);
      consumer.subscribe(List.of(topic), whereTheDatabaseIs(consumer, reactions));
      while (true) {
        ConsumerRecords<String, AbsenceChange> records = consumer.poll(Duration.ofSeconds(1));
        String now = life.now();
        if ((now != null && !now.equals(id)) || !reactions.take(records, id)) {
          Runtime.getRuntime().removeShutdownHook(stop);
          System.err.println(
              "The topic of " + COLLECTION + " was recreated, or lost records. Start this program again: it then reads the topic"
                  + " from the beginning.");
          System.exit(1);
        }
        reactions.send();
      }
    } catch (WakeupException stopped) {
      // SIGTERM or Ctrl-C
    }
  }

  private static void stop(TopicLife life, KafkaConsumer<?, ?> consumer, Thread main) {
    life.wakeup();
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
        for (TopicPartition partition : partitions) {
          consumer.seek(partition, reactions.position(partition.topic(), partition.partition()));
        }
      }

      @Override
      public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
    };
  }
}
