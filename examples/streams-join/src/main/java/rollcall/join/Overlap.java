package rollcall.join;

import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import rollcall.Absence;
import rollcall.Lesson;
import rollcall.Schedule;

/** Which lessons an absence touches (specification 1.1): the rule of examples/absence-lessons, in Java. */
final class Overlap {
  private static final Comparator<Lesson> IN_ORDER =
      Comparator.comparing(Lesson::getStart)
          .thenComparing(Lesson::getEnd)
          .thenComparing(lesson -> lesson.getId() == null ? "" : lesson.getId());

  private Overlap() {}

  /** Returns the lessons that an absence touches, sorted by start, end and id. */
  static List<Lesson> lessonsOf(Absence absence, Stream<Schedule> days) {
    return days.flatMap(day -> day.getLessons().stream())
        .filter(lesson -> touches(absence, lesson))
        .sorted(IN_ORDER)
        .toList();
  }

  static boolean touches(Absence absence, Schedule day) {
    return day.getLessons().stream().anyMatch(lesson -> touches(absence, lesson));
  }

  private static boolean touches(Absence absence, Lesson lesson) {
    return isOfClass(absence, lesson) && overlaps(absence, lesson);
  }

  /** Absence and lesson include their start and exclude their end. */
  private static boolean overlaps(Absence absence, Lesson lesson) {
    if (absence.getFromTime() == null || absence.getToTime() == null) return false;
    if (lesson.getStart() == null || lesson.getEnd() == null) return false;
    return later(absence.getFromTime(), lesson.getStart()).isBefore(earlier(absence.getToTime(), lesson.getEnd()));
  }

  private static boolean isOfClass(Absence absence, Lesson lesson) {
    if (absence.getClassesAffected() == null) return true;
    if (lesson.getClasses() == null) return false;
    String wanted = absence.getClassesAffected().getSourcedId();
    return lesson.getClasses().stream().anyMatch(reference -> reference.getSourcedId().equals(wanted));
  }

  private static Instant later(Instant one, Instant other) {
    return one.isAfter(other) ? one : other;
  }

  private static Instant earlier(Instant one, Instant other) {
    return one.isBefore(other) ? one : other;
  }
}
