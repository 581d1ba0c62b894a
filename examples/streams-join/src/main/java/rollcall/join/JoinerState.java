package rollcall.join;

import static org.apache.kafka.common.serialization.Serdes.String;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import rollcall.Absence;
import rollcall.SchoolClass;

/** The stores of one partition of students. Each has a changelog topic. */
final class JoinerState {
  private static final StringSerializer TEXT = new StringSerializer();

  /** By student and absence id. */
  final KeyValueStore<String, Absence> absences;

  /** By the key in `schedules`: student and day. */
  final KeyValueStore<String, StoredDay> days;

  final KeyValueStore<String, SchoolClass> classes;

  /** What was last published of an absence, by student and absence id. */
  final KeyValueStore<String, AbsenceLessons> published;

  /** Class id, then student and absence id: the absences that touch a lesson of the class. */
  private final KeyValueStore<String, String> classIndex;

  JoinerState(ProcessorContext<?, ?> context) {
    absences = context.getStateStore("absences");
    days = context.getStateStore("days");
    classes = context.getStateStore("classes");
    published = context.getStateStore("published");
    classIndex = context.getStateStore("absences-by-class");
  }

  static Set<StoreBuilder<?>> stores() {
    return Set.of(
        store("absences", Absence.class),
        store("days", StoredDay.class),
        store("classes", SchoolClass.class),
        store("published", AbsenceLessons.class),
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("absences-by-class"), String(), String()));
  }

  private static <T extends SpecificRecord> StoreBuilder<?> store(String name, Class<T> type) {
    return Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(name), String(), Serdes.internal(type));
  }

  List<KeyValue<String, Absence>> absencesOf(String student) {
    return all(absences.prefixScan(Keys.prefix(student), TEXT));
  }

  /** Returns the days on which a lesson that overlaps the absence can begin, and some around them. */
  List<KeyValue<String, StoredDay>> daysAround(String student, Absence absence) {
    if (absence.getFromTime() == null || absence.getToTime() == null) return List.of();
    if (!absence.getFromTime().isBefore(absence.getToTime())) return List.of();
    return all(days.range(Keys.firstDay(student, absence), Keys.lastDay(student, absence)));
  }

  List<String> absencesOfClass(String classId) {
    return all(classIndex.prefixScan(Keys.prefix(classId), TEXT)).stream().map(each -> each.value).toList();
  }

  /** `key`: student and absence id. */
  void remember(String key, AbsenceLessons before, AbsenceLessons now) {
    if (now == null) published.delete(key);
    else published.put(key, now);
    Set<String> left = classesIn(before);
    Set<String> wanted = classesIn(now);
    left.removeAll(wanted);
    for (String classId : left) classIndex.delete(Keys.of(classId, key));
    for (String classId : wanted) classIndex.put(Keys.of(classId, key), key);
  }

  private static Set<String> classesIn(AbsenceLessons value) {
    Set<String> ids = new HashSet<>();
    if (value == null) return ids;
    value.getLessons().forEach(lesson -> lesson.getClasses().forEach(each -> ids.add(each.getSourcedId())));
    return ids;
  }

  /** Iterators hold resources of the store: this reads them to their end and closes them. */
  private static <V> List<KeyValue<String, V>> all(KeyValueIterator<String, V> iterator) {
    List<KeyValue<String, V>> found = new ArrayList<>();
    try (iterator) {
      iterator.forEachRemaining(found::add);
    }
    return found;
  }
}
