package rollcall.join;

import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import rollcall.Absence;

/**
 * Gives each record of `absences` the key of its student. A deletion names no student, so a store remembers the student
 * of each absence.
 */
final class ByStudent implements Processor<String, Absence, String, AbsenceOfStudent> {
  private static final String STUDENTS = "student-of-absence";
  /** The key for absences that name no student. No student of the hub has an empty id. */
  private static final String NO_STUDENT = "";

  private ProcessorContext<String, AbsenceOfStudent> context;
  private KeyValueStore<String, String> students;

  static ProcessorSupplier<String, Absence, String, AbsenceOfStudent> supplier() {
    return new ProcessorSupplier<>() {
      @Override
      public Processor<String, Absence, String, AbsenceOfStudent> get() {
        return new ByStudent();
      }

      @Override
      public Set<StoreBuilder<?>> stores() {
        var store = Stores.persistentKeyValueStore(STUDENTS);
        return Set.of(Stores.keyValueStoreBuilder(store, Serdes.String(), Serdes.String()));
      }
    };
  }

  @Override
  public void init(ProcessorContext<String, AbsenceOfStudent> context) {
    this.context = context;
    students = context.getStateStore(STUDENTS);
  }

  @Override
  public void process(Record<String, Absence> record) {
    String before = students.get(record.key());
    String now = studentOf(record.value());
    if (now == null) students.delete(record.key());
    else if (!now.equals(before)) students.put(record.key(), now);
    // Rollcall gives an absence id to one student only. So the two records below are never about two students at once.
    if (before != null && !before.equals(now)) forward(record, before, null);
    if (now != null) forward(record, now, record.value());
  }

  private static String studentOf(Absence absence) {
    if (absence == null) return null;
    return absence.getStudent() == null ? NO_STUDENT : absence.getStudent().getSourcedId();
  }

  private void forward(Record<String, Absence> record, String student, Absence absence) {
    var value = new AbsenceOfStudent(student, record.key(), absence);
    context.forward(new Record<>(student, value, record.timestamp()));
  }
}
