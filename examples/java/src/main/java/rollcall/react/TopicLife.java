package rollcall.react;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import rollcall.Progress;

/** The life of a topic, as `progress` says. If the id changes, the topic was recreated, or lost records, and old positions mean nothing. */
final class TopicLife implements AutoCloseable {
  private final KafkaConsumer<String, Progress> progress;
  private final TopicPartition partition;
  private final String collection;
  private String id;

  /** Reads from the beginning, without a group. */
  TopicLife(Properties settings, String topics, String collection) {
    this.collection = collection;
    partition = new TopicPartition(topics + ".progress", 0);
    progress = new KafkaConsumer<>(settings);
    progress.assign(List.of(partition));
    progress.seekToBeginning(List.of(partition));
  }

  /** Waits until `progress` is read to its end and Rollcall has published something in the topic. */
  String first() {
    long end = progress.endOffsets(List.of(partition)).get(partition);
    while (progress.position(partition) < end || id == null) read(Duration.ofSeconds(1));
    return id;
  }

  /** What `progress` says by now. Null while nothing has been published since the topic was created. */
  String now() {
    read(Duration.ZERO);
    return id;
  }

  private void read(Duration wait) {
    for (ConsumerRecord<String, Progress> record : progress.poll(wait)) {
      if (record.key().equals(collection) && record.value() != null) id = record.value().getLifeId();
    }
  }

  /** Ends the waiting, from another thread. */
  void wakeup() {
    progress.wakeup();
  }

  @Override
  public void close() {
    progress.close();
  }
}
