package rollcall.join;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import rollcall.Absence;

/** Keys of two parts, as in the topics: `|` and `%` inside a part are percent-encoded. */
final class Keys {
  private static final LocalDate FIRST = LocalDate.of(1, 1, 1);
  private static final LocalDate LAST = LocalDate.of(9999, 12, 31);

  private Keys() {}

  static String encoded(String part) {
    return part.replace("%", "%25").replace("|", "%7C");
  }

  private static String decoded(String part) {
    return part.replace("%7C", "|").replace("%25", "%");
  }

  static String firstPart(String key) {
    return decoded(key.substring(0, key.indexOf('|')));
  }

  static String secondPart(String key) {
    return decoded(key.substring(key.indexOf('|') + 1));
  }

  static String of(String first, String second) {
    return encoded(first) + "|" + encoded(second);
  }

  /** The text with which every key with that first part begins, and no other key. */
  static String prefix(String first) {
    return encoded(first) + "|";
  }

  /**
   * Returns the first key in `schedules` that may have lessons of an absence. The day is counted in a zone up to 12
   * hours behind UTC, and a lesson may last beyond midnight.
   */
  static String firstDay(String student, Absence absence) {
    return prefix(student) + clamped(dateOf(absence.getFromTime()).minusDays(2));
  }

  /** Returns the last such key: zones are up to 14 hours ahead of UTC. */
  static String lastDay(String student, Absence absence) {
    return prefix(student) + clamped(dateOf(absence.getToTime()).plusDays(1));
  }

  private static LocalDate dateOf(Instant instant) {
    return LocalDate.ofInstant(instant, ZoneOffset.UTC);
  }

  private static LocalDate clamped(LocalDate date) {
    if (date.isBefore(FIRST)) return FIRST;
    return date.isAfter(LAST) ? LAST : date;
  }
}
