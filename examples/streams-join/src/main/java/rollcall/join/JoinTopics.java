package rollcall.join;

/** Names of the topics that the join reads and writes. */
record JoinTopics(String absences, String schedules, String classes, String output) {
  /** `topics`: `<prefix>.<tenant>`. */
  static JoinTopics of(String topics) {
    return new JoinTopics(
        topics + ".absences", topics + ".schedules", topics + ".classes", topics + ".absence-lessons");
  }
}
