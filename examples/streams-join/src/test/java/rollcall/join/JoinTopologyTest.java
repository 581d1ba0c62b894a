package rollcall.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JoinTopologyTest {
  private static final JoinTopics TOPICS = JoinTopics.of("rollcall.north");
  private static final String MORNING = "2026-03-10T07:00:00Z";
  private static final String NOON = "2026-03-10T11:00:00Z";
  private static final GenericRecord MATHS =
      Rows.lesson("maths", "2026-03-10T08:00:00Z", "2026-03-10T09:00:00Z", "7b-maths");
  private static final GenericRecord ART =
      Rows.lesson("art", "2026-03-10T09:00:00Z", "2026-03-10T10:00:00Z", "7b-art");
  private static final GenericRecord MUSIC =
      Rows.lesson("music", "2026-03-10T12:00:00Z", "2026-03-10T13:00:00Z", "7b-music");

  @TempDir private java.nio.file.Path folder;
  private final FakeRegistry registry = new FakeRegistry();
  private TopologyTestDriver driver;
  private TestOutputTopic<String, AbsenceLessons> output;

  @BeforeEach
  void open() {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:9092");
    settings.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    driver = new TopologyTestDriver(JoinTopology.build(TOPICS, registry, 1), settings);
    output =
        driver.createOutputTopic(
            TOPICS.output(),
            new StringDeserializer(),
            Serdes.framed(AbsenceLessons.class, registry).deserializer());
  }

  @AfterEach
  void close() {
    driver.close();
  }

  private void publish(String topic, String key, GenericRecord value) {
    TestInputTopic<String, byte[]> input =
        driver.createInputTopic(topic, new StringSerializer(), new ByteArraySerializer());
    input.pipeInput(key, Rows.framed(value, registry));
  }

  private void absence(String id, GenericRecord value) {
    publish(TOPICS.absences(), id, value);
  }

  private void day(String student, GenericRecord... lessons) {
    publish(TOPICS.schedules(), student + "|2026-03-10", Rows.day(student, "2026-03-10", lessons));
  }

  private static List<String> lessonsOf(AbsenceLessons value) {
    return value.getLessons().stream().map(TouchedLesson::getId).toList();
  }

  /** The only record since the last look. */
  private AbsenceLessons only(String absenceId) {
    var records = output.readKeyValuesToList();
    assertEquals(1, records.size(), records::toString);
    assertEquals(absenceId, records.get(0).key);
    return records.get(0).value;
  }

  @Test
  void anAbsenceIsPublishedWithTheLessonsThatItTouches() {
    day("anna", MATHS, ART, MUSIC);
    day("ben", MATHS);
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    AbsenceLessons value = only("a1");
    assertEquals(List.of("maths", "art"), lessonsOf(value));
    assertEquals("v1", value.getVersion());
    assertEquals("anna", value.getStudent());
    assertEquals(MORNING, value.getFromTime().toString());
    assertEquals("2026-03-10T09:00:00Z", value.getLessons().get(0).getEnd().toString());
  }

  @Test
  void lateChangedAndEmptiedSchedulesCorrectIt() {
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    assertEquals(List.of(), lessonsOf(only("a1")));
    day("anna", MATHS, MUSIC);
    assertEquals(List.of("maths"), lessonsOf(only("a1")));
    day("anna", MATHS, ART, MUSIC);
    assertEquals(List.of("maths", "art"), lessonsOf(only("a1")));
    day("anna");
    assertEquals(List.of(), lessonsOf(only("a1")));
  }

  @Test
  void aReplacementCorrectsItAndADeletionRetractsIt() {
    day("anna", MATHS, ART, MUSIC);
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    assertEquals(List.of("maths", "art"), lessonsOf(only("a1")));
    absence("a1", Rows.absence("v2", "anna", MORNING, NOON, "7b-art"));
    AbsenceLessons value = only("a1");
    assertEquals("v2", value.getVersion());
    assertEquals(List.of("art"), lessonsOf(value));
    absence("a1", null);
    assertNull(only("a1"));
    day("anna", MATHS);
    assertTrue(output.isEmpty());
  }

  @Test
  void whatChangesNothingForAnAbsenceIsNotPublishedAgain() {
    day("anna", MATHS, ART);
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    only("a1");
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    day("anna", MATHS, ART);
    day("anna", MATHS, ART, MUSIC);
    day("ben", MUSIC);
    absence("a2", null);
    assertTrue(output.isEmpty());
  }

  @Test
  void aClassThatComesLateOrChangesCorrectsItsAbsencesAndNoOther() {
    day("anna", MATHS);
    day("ben", ART);
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    absence("a2", Rows.absence("w1", "ben", MORNING, NOON, null));
    assertEquals(2, output.readKeyValuesToList().size());
    publish(TOPICS.classes(), "7b-maths", Rows.schoolClass("7b-maths", "Mathematics 7b"));
    assertEquals("Mathematics 7b", only("a1").getLessons().get(0).getClasses().get(0).getTitle());
    publish(TOPICS.classes(), "7b-maths", Rows.schoolClass("7b-maths", "Mathematics 7b"));
    assertTrue(output.isEmpty());
    publish(TOPICS.classes(), "7b-maths", null);
    assertNull(only("a1").getLessons().get(0).getClasses().get(0).getTitle());
  }

  @Test
  void aDayThatLeavesTheWindowLeavesItsAbsencesAsTheyAre() {
    day("anna", MATHS, ART);
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    only("a1");
    publish(TOPICS.schedules(), "anna|2026-03-10", null);
    assertTrue(output.isEmpty());
    absence("a1", Rows.absence("v2", "anna", MORNING, "2026-03-10T09:00:00Z", null));
    assertEquals(List.of("maths"), lessonsOf(only("a1")));
  }

  @Test
  void aDayThatLeftIsForgottenWithItsLastAbsence() {
    day("anna", MATHS);
    absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null));
    publish(TOPICS.schedules(), "anna|2026-03-10", null);
    assertEquals(1, daysKept());
    absence("a1", null);
    assertEquals(0, daysKept());
    day("anna", MATHS);
    publish(TOPICS.schedules(), "anna|2026-03-10", null);
    assertEquals(0, daysKept());
  }

  private long daysKept() {
    try (var all = driver.<String, StoredDay>getKeyValueStore("days").all()) {
      long count = 0;
      for (; all.hasNext(); all.next()) count += 1;
      return count;
    }
  }

  @Test
  void anAbsenceOverSeveralDaysHasTheLessonsOfEachAlsoThoseThatBeganTheEveningBefore() {
    publish(
        TOPICS.schedules(),
        "anna|2026-03-09",
        Rows.day(
            "anna",
            "2026-03-09",
            Rows.lesson("trip", "2026-03-09T20:00:00Z", "2026-03-10T02:00:00Z"),
            Rows.lesson("before", "2026-03-09T08:00:00Z", "2026-03-09T09:00:00Z")));
    day("anna", MATHS);
    publish(
        TOPICS.schedules(),
        "anna|2026-03-11",
        Rows.day(
            "anna",
            "2026-03-11",
            Rows.lesson("night", "2026-03-10T22:59:59Z", "2026-03-10T23:30:00Z"),
            Rows.lesson("ends", "2026-03-11T23:00:00Z", "2026-03-11T23:30:00Z")));
    absence("a1", Rows.absence("v1", "anna", "2026-03-09T23:00:00Z", "2026-03-11T23:00:00Z", null));
    assertEquals(List.of("trip", "maths", "night"), lessonsOf(only("a1")));
  }

  @Test
  void anAbsenceWithoutARealBeginningOrEndHasTheLessonsOfTheKnownDays() {
    String longAgo = Instant.ofEpochMilli(Long.MIN_VALUE).toString();
    String neverEnds = Instant.ofEpochMilli(Long.MAX_VALUE).toString();
    for (String end : List.of("9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z", neverEnds)) {
      for (String begin : List.of(MORNING, "0001-01-01T00:00:00Z", "0999-12-31T00:00:00Z", longAgo)) {
        absence("a1", Rows.absence("v1", "anna", begin, end, null));
        assertEquals(List.of(), lessonsOf(only("a1")));
        day("anna", MATHS, ART);
        assertEquals(List.of("maths", "art"), lessonsOf(only("a1")), begin + " to " + end);
        absence("a1", null);
        assertNull(only("a1"));
        day("anna");
        assertTrue(output.isEmpty());
      }
    }
  }

  @Test
  void idsOfStudentsWithBarsAndPercentSignsAreKeptApart() {
    publish(TOPICS.schedules(), "a%7Cb|2026-03-10", Rows.day("a|b", "2026-03-10", MATHS));
    publish(TOPICS.schedules(), "a|2026-03-10", Rows.day("a", "2026-03-10", ART));
    publish(TOPICS.schedules(), "a%257C|2026-03-10", Rows.day("a%7C", "2026-03-10", ART));
    absence("x|absence-2", Rows.absence("v1", "a|b", MORNING, NOON, null));
    assertEquals(List.of("maths"), lessonsOf(only("x|absence-2")));
    absence("x|absence-2", null);
    assertNull(only("x|absence-2"));
  }

  @Test
  void anAbsenceWithoutStudentTimesOrDurationHasNoLessons() {
    day("anna", MATHS);
    absence("a1", Rows.absence("v1", null, MORNING, NOON, null));
    absence("a2", Rows.absence("v2", "anna", null, NOON, null));
    absence("a3", Rows.absence("v3", "anna", MORNING, null, null));
    absence("a4", Rows.absence("v4", "anna", NOON, MORNING, null));
    for (var record : output.readKeyValuesToList()) assertEquals(List.of(), lessonsOf(record.value), record.key);
  }

  /** Whatever the order of the records, the table ends the same. */
  @Test
  void theTableDoesNotDependOnTheOrderBetweenTopicsAndStudents() {
    List<Runnable> changes =
        List.of(
            () -> day("anna", MATHS, ART, MUSIC),
            () -> day("ben", MATHS, ART),
            () -> absence("a1", Rows.absence("v1", "anna", MORNING, NOON, null)),
            () -> absence("a2", Rows.absence("v2", "anna", NOON, "2026-03-10T15:00:00Z", null)),
            () -> absence("b1", Rows.absence("v3", "ben", MORNING, NOON, "7b-art")),
            () -> publish(TOPICS.classes(), "7b-art", Rows.schoolClass("7b-art", "Art 7b")),
            () -> publish(TOPICS.classes(), "7b-maths", Rows.schoolClass("7b-maths", "Maths 7b")));
    Map<String, AbsenceLessons> first = null;
    Map<String, AbsenceLessons> table = new HashMap<>();
    for (int seed = 0; seed < 20; seed += 1) {
      var order = new java.util.ArrayList<>(changes);
      java.util.Collections.shuffle(order, new Random(seed));
      order.forEach(Runnable::run);
      output.readKeyValuesToList().forEach(record -> table.put(record.key, record.value));
      if (first == null) first = Map.copyOf(table);
      assertEquals(first, table, "seed " + seed);
      assertEquals(
          List.of("a1", "a2", "b1"), table.keySet().stream().sorted().collect(Collectors.toList()));
      for (String id : List.of("a1", "a2", "b1")) absence(id, null);
      for (String key : List.of("anna|2026-03-10", "ben|2026-03-10")) publish(TOPICS.schedules(), key, null);
      for (String id : List.of("7b-art", "7b-maths")) publish(TOPICS.classes(), id, null);
      output.readKeyValuesToList().forEach(record -> table.put(record.key, record.value));
      assertTrue(table.values().stream().allMatch(java.util.Objects::isNull));
      table.clear();
    }
  }
}
