package rollcall.join;

import static org.apache.kafka.common.serialization.Serdes.String;

import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.StreamPartitioner;
import rollcall.Absence;
import rollcall.Schedule;
import rollcall.SchoolClass;

/**
 * `absences`, `schedules` and `classes` → `absence-lessons`. The three topics share no key: absences and days are brought
 * to the partition of their student, and each class to every partition.
 */
final class JoinTopology {
  private static final StreamPartitioner<String, ClassForAll> TO_ALL =
      (topic, key, value, partitions) ->
          Optional.of(IntStream.range(0, partitions).boxed().collect(Collectors.toSet()));

  private JoinTopology() {}

  /** `partitions`: of the internal topics, and so the greatest number of instances that share the work. */
  static Topology build(JoinTopics topics, Schemas registry, int partitions) {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, SpecificRecord> absences =
        builder.stream(topics.absences(), Consumed.with(String(), Serdes.framed(Absence.class, registry)))
            .process(ByStudent.supplier())
            .repartition(repartitioned("absences-by-student", AbsenceOfStudent.class, partitions))
            .mapValues(value -> value);
    KStream<String, SpecificRecord> days =
        builder.stream(topics.schedules(), Consumed.with(String(), Serdes.framed(Schedule.class, registry)))
            .mapValues(DayOfStudent::new)
            .selectKey((key, day) -> Keys.firstPart(key))
            .repartition(repartitioned("days-by-student", DayOfStudent.class, partitions))
            .mapValues(value -> value);
    KStream<String, SpecificRecord> classes =
        builder.stream(topics.classes(), Consumed.with(String(), Serdes.framed(SchoolClass.class, registry)))
            .mapValues(ClassForAll::new)
            .repartition(
                repartitioned("classes-for-all", ClassForAll.class, partitions).withStreamPartitioner(TO_ALL))
            .mapValues(value -> value);
    absences
        .merge(days)
        .merge(classes)
        .process(Joiner.supplier())
        .to(topics.output(), Produced.with(String(), Serdes.framed(AbsenceLessons.class, registry)));
    return builder.build();
  }

  private static <T extends SpecificRecord> Repartitioned<String, T> repartitioned(
      String name, Class<T> type, int partitions) {
    return Repartitioned.with(String(), Serdes.internal(type)).withName(name).withNumberOfPartitions(partitions);
  }
}
