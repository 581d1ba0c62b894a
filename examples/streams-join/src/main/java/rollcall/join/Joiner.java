package rollcall.join;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.StoreBuilder;
import rollcall.Absence;
import rollcall.GuidRef;
import rollcall.Lesson;
import rollcall.Schedule;
import rollcall.SchoolClass;

/**
 * Joins the absences and lessons of a student, and names the lessons' classes. Each partition has the students whose ids
 * fall on it, and all classes. Any of the three may change. An absence is published again only if its value differs from the one published last.
 */
final class Joiner implements Processor<String, SpecificRecord, String, AbsenceLessons> {
  private ProcessorContext<String, AbsenceLessons> context;
  private JoinerState state;

  static ProcessorSupplier<String, SpecificRecord, String, AbsenceLessons> supplier() {
    return new ProcessorSupplier<>() {
      @Override
      public Processor<String, SpecificRecord, String, AbsenceLessons> get() {
        return new Joiner();
      }

      @Override
      public Set<StoreBuilder<?>> stores() {
        return JoinerState.stores();
      }
    };
  }

  @Override
  public void init(ProcessorContext<String, AbsenceLessons> context) {
    this.context = context;
    state = new JoinerState(context);
  }

  @Override
  public void process(Record<String, SpecificRecord> record) {
    if (record.value() instanceof AbsenceOfStudent change) takeAbsence(change, record.timestamp());
    else if (record.value() instanceof DayOfStudent change) takeDay(change, record.timestamp());
    else if (record.value() instanceof ClassForAll change) takeClass(change, record.timestamp());
  }

  private void takeAbsence(AbsenceOfStudent change, long timestamp) {
    String key = Keys.of(change.getStudent(), change.getAbsenceId());
    Absence before = state.absences.get(key);
    if (change.getAbsence() == null) state.absences.delete(key);
    else state.absences.put(key, change.getAbsence());
    publish(key, timestamp);
    if (before != null) forgetDaysThatLeft(change.getStudent(), before);
  }

  private void takeDay(DayOfStudent change, long timestamp) {
    String student = Keys.firstPart(change.getKey());
    StoredDay stored = state.days.get(change.getKey());
    Schedule before = stored == null ? null : stored.getDay();
    Schedule now = change.getDay();
    if (now == null) {
      // The topic no longer has the day, which says nothing about its lessons: what was published stays true.
      if (before != null) keepWhileTouched(student, change.getKey(), before);
      return;
    }
    state.days.put(change.getKey(), new StoredDay(now, false));
    for (var each : state.absencesOf(student)) {
      boolean wasTouched = before != null && Overlap.touches(each.value, before);
      if (wasTouched || Overlap.touches(each.value, now)) publish(each.key, timestamp);
    }
  }

  private void takeClass(ClassForAll change, long timestamp) {
    SchoolClass before = state.classes.get(change.getClassId());
    if (change.getSchoolClass() == null) state.classes.delete(change.getClassId());
    else state.classes.put(change.getClassId(), change.getSchoolClass());
    if (change.getSchoolClass() != null && change.getSchoolClass().equals(before)) return;
    for (String key : state.absencesOfClass(change.getClassId())) publish(key, timestamp);
  }

  /** `key`: student and absence id. */
  private void publish(String key, long timestamp) {
    Absence absence = state.absences.get(key);
    AbsenceLessons before = state.published.get(key);
    AbsenceLessons now = absence == null ? null : join(key, absence);
    if (now == null ? before == null : now.equals(before)) return;
    state.remember(key, before, now);
    context.forward(new Record<>(Keys.secondPart(key), now, timestamp));
  }

  private AbsenceLessons join(String key, Absence absence) {
    String student = Keys.firstPart(key);
    var days = state.daysAround(student, absence).stream().map(each -> each.value.getDay());
    return AbsenceLessons.newBuilder()
        .setAbsenceId(Keys.secondPart(key))
        .setVersion(absence.getSourcedId())
        .setStudent(idOf(absence.getStudent()))
        .setFromTime(absence.getFromTime())
        .setToTime(absence.getToTime())
        .setClassAffected(idOf(absence.getClassesAffected()))
        .setLessons(Overlap.lessonsOf(absence, days).stream().map(this::withClasses).toList())
        .build();
  }

  private TouchedLesson withClasses(Lesson lesson) {
    List<TouchedClass> classes = new ArrayList<>();
    for (String classId : classesOf(lesson)) {
      SchoolClass known = state.classes.get(classId);
      classes.add(
          new TouchedClass(
              classId, known == null ? null : known.getTitle(), known == null ? null : known.getClassCode()));
    }
    return new TouchedLesson(
        lesson.getId(), lesson.getTitle(), lesson.getStart(), lesson.getEnd(), lesson.getCancelled(), classes);
  }

  private static Set<String> classesOf(Lesson lesson) {
    Set<String> ids = new TreeSet<>(Comparator.naturalOrder());
    if (lesson.getClasses() != null) lesson.getClasses().forEach(reference -> ids.add(reference.getSourcedId()));
    return ids;
  }

  private static String idOf(GuidRef reference) {
    return reference == null ? null : reference.getSourcedId();
  }

  private void keepWhileTouched(String student, String dayKey, Schedule day) {
    for (KeyValue<String, Absence> each : state.absencesOf(student)) {
      if (Overlap.touches(each.value, day)) {
        state.days.put(dayKey, new StoredDay(day, true));
        return;
      }
    }
    state.days.delete(dayKey);
  }

  private void forgetDaysThatLeft(String student, Absence absence) {
    for (var each : state.daysAround(student, absence)) {
      if (each.value.getHasLeft()) keepWhileTouched(student, each.key, each.value.getDay());
    }
  }
}
