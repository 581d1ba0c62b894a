package rollcall.react;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.header.Header;
import rollcall.AbsenceChange;
import rollcall.AbsenceVersion;

/** Reactions and positions in one database (SQLite): the reactions to events and the positions after them change together. */
final class Reactions implements AutoCloseable {
  private final Connection db;
  private final Duration tooLateAfter;
  private final Instant started;

  Reactions(String file, Duration tooLateAfter) throws SQLException {
    this.tooLateAfter = tooLateAfter;
    db = DriverManager.getConnection("jdbc:sqlite:" + file);
    run("pragma busy_timeout = 10000");
    run("create table if not exists started (at integer not null)");
    run(
        "create table if not exists positions (topic text, partition integer, next integer not null,"
            + " primary key (topic, partition))");
    run("create table if not exists life (id text not null)");
    run(
        "create table if not exists reactions (ce_id text primary key, absence_id text not null, action text not null,"
            + " facts text not null, sent integer not null default 0)");
    run("insert into started select ? where not exists (select * from started)", System.currentTimeMillis());
    started = Instant.ofEpochMilli(number("select at from started"));
  }

  /** Where to go on; 0 at the very first start. */
  long position(String topic, int partition) {
    try {
      return number("select coalesce(max(next), 0) from positions where topic = ? and partition = ?", topic, partition);
    } catch (SQLException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Forgets the positions if they belong to another life of the topic. */
  void beginLife(String id) throws SQLException {
    run("begin immediate");
    if (!isOfLife(id)) {
      run("delete from positions");
      run("delete from life");
      run("insert into life values (?)", id);
    }
    run("commit");
  }

  private boolean isOfLife(String id) throws SQLException {
    return number("select count(*) from life where id = ?", id) == 1;
  }

  /**
   * One transaction: the reactions to some events, and the positions after them. False, and nothing is taken, if another
   * process of the group has begun another life of the topic.
   */
  boolean take(ConsumerRecords<String, AbsenceChange> records, String life) throws SQLException {
    run("begin immediate");
    try {
      boolean isOfLife = isOfLife(life);
      if (isOfLife) for (ConsumerRecord<String, AbsenceChange> record : records) takeOne(record);
      run("commit");
      return isOfLife;
    } catch (SQLException | RuntimeException error) {
      run("rollback");
      throw error;
    }
  }

  private void takeOne(ConsumerRecord<String, AbsenceChange> record) throws SQLException {
    // Another process of the group may have handled this event: it took the partition over, and this process has not noticed yet.
    if (position(record.topic(), record.partition()) > record.offset()) return;
    if (record.value() != null) react(record); // null: the absence is forgotten
    run("insert or replace into positions values (?, ?, ?)", record.topic(), record.partition(), record.offset() + 1);
  }

  private void react(ConsumerRecord<String, AbsenceChange> record) throws SQLException {
    AbsenceChange change = record.value();
    // Changes from before Rollcall's first load, or from before the first start of this program, are not news.
    if (change.getSnapshot() || change.getDetectedAt().isBefore(started)) return;
    AbsenceVersion version = change.getVersion();
    String facts = version.getFromTime() + " " + version.getToTime();
    run(
        "insert or ignore into reactions (ce_id, absence_id, action, facts) values (?, ?, ?, ?)",
        text(record.headers().lastHeader("ce_id")), record.key(), actionFor(change), facts);
  }

  private String actionFor(AbsenceChange change) {
    String cause = change.getCause();
    Instant end = change.getVersion().getToTime();
    if (cause.equals("MERGED")) return "nothing"; // nothing happened to the student
    if (end != null && end.isBefore(Instant.now().minus(tooLateAfter))) return "nothing";
    if (!cause.equals("HUB")) return "ask"; // the record left the hub, but nobody withdrew the absence: let a person ask
    return switch (change.getOperation()) {
      case "CREATED", "RESTORED" -> "tell";
      case "REPLACED" -> "correct";
      case "DELETED" -> "withdraw";
      default -> "ask"; // an operation of a newer version of Rollcall
    };
  }

  /** A crash may repeat a line, so its ce_id goes along. */
  void send() throws SQLException {
    String unsent = "select ce_id, absence_id, action, facts from reactions where sent = 0 and action <> 'nothing' order by rowid";
    try (Statement statement = db.createStatement();
        ResultSet rows = statement.executeQuery(unsent)) {
      while (rows.next()) {
        String id = rows.getString(1);
        System.out.printf("%s %s absence %s ce_id %s%n", rows.getString(3), rows.getString(4), rows.getString(2), id);
        run("update reactions set sent = 1 where ce_id = ?", id);
      }
    }
  }

  private static String text(Header header) {
    return new String(header.value(), StandardCharsets.UTF_8);
  }

  private void run(String sql, Object... values) throws SQLException {
    try (PreparedStatement statement = prepared(sql, values)) {
      statement.execute();
    }
  }

  private long number(String sql, Object... values) throws SQLException {
    try (PreparedStatement statement = prepared(sql, values);
        ResultSet row = statement.executeQuery()) {
      row.next();
      return row.getLong(1);
    }
  }

  private PreparedStatement prepared(String sql, Object... values) throws SQLException {
    PreparedStatement statement = db.prepareStatement(sql);
    for (int at = 0; at < values.length; at += 1) statement.setObject(at + 1, values[at]);
    return statement;
  }

  @Override
  public void close() throws SQLException {
    db.close();
  }
}
