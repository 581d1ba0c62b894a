package rollcall.flink;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Comparator;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/**
 * Runs a file of SQL in a Flink of its own, in this process, until it is ended. A cluster needs only the file: its SQL
 * client runs the same statements. {@code ${NAME}} in the file is the variable of the environment. Where the file sets
 * a folder for checkpoints, the program goes on from the newest one there.
 */
public final class RunSql {
  private static final Pattern VARIABLE = Pattern.compile("\\$\\{(\\w+)}");
  private static final Pattern SETTING = Pattern.compile("\\s*SET\\s+'([^']+)'\\s*=\\s*'([^']*)'\\s*");

  private RunSql() {}

  public static void main(String[] args) throws Exception {
    String sql = VARIABLE.matcher(Files.readString(Path.of(args[0]))).replaceAll(RunSql::valueOf);
    String[] statements = sql.replaceAll("(?m)^--.*$", "").split(";\\s*(\\n|$)");
    var settings = EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(configured(statements));
    TableEnvironment tables = TableEnvironment.create(settings.build());
    // Together they are one job, which goes on from one checkpoint.
    StatementSet inserts = tables.createStatementSet();
    for (String statement : statements) {
      if (statement.isBlank() || SETTING.matcher(statement).matches()) continue;
      if (statement.stripLeading().startsWith("INSERT")) inserts.addInsertSql(statement);
      else tables.executeSql(statement);
    }
    TableResult running = inserts.execute();
    System.out.println("running");
    running.await();
  }

  private static Configuration configured(String[] statements) {
    Configuration configuration = new Configuration();
    for (String statement : statements) {
      Matcher setting = SETTING.matcher(statement);
      if (setting.matches()) configuration.setString(setting.group(1), setting.group(2));
    }
    String folder = configuration.getString("execution.checkpointing.dir", null);
    if (folder != null) {
      newestCheckpoint(Path.of(URI.create(folder)))
          .ifPresent(path -> configuration.setString("execution.state-recovery.path", path.toUri().toString()));
    }
    return configuration;
  }

  /** A checkpoint is complete once it has `_metadata`. Each start has a folder of its own for its checkpoints. */
  private static Optional<Path> newestCheckpoint(Path folder) {
    if (!Files.isDirectory(folder)) return Optional.empty();
    try (Stream<Path> files = Files.find(folder, 3, (path, file) -> path.endsWith("_metadata"))) {
      return files.max(Comparator.comparing(RunSql::writtenAt)).map(Path::getParent);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static FileTime writtenAt(Path path) {
    try {
      return Files.getLastModifiedTime(path);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static String valueOf(MatchResult variable) {
    String value = System.getenv(variable.group(1));
    if (value == null) throw new IllegalArgumentException(variable.group(1) + " is not set");
    return Matcher.quoteReplacement(value);
  }
}
