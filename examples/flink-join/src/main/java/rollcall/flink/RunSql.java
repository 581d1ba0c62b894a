package rollcall.flink;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/**
 * Runs a file of SQL in a Flink of its own, in this process, until it is ended. A cluster needs only the file: its SQL
 * client runs the same statements. {@code ${NAME}} in the file is the variable of the environment.
 */
public final class RunSql {
  private static final Pattern VARIABLE = Pattern.compile("\\$\\{(\\w+)}");

  private RunSql() {}

  public static void main(String[] args) throws Exception {
    String sql = VARIABLE.matcher(Files.readString(Path.of(args[0]))).replaceAll(RunSql::valueOf);
    TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
    TableResult last = null;
    for (String statement : sql.replaceAll("(?m)^--.*$", "").split(";\\s*(\\n|$)")) {
      if (!statement.isBlank()) last = tables.executeSql(statement);
    }
    System.out.println("running");
    if (last != null) last.await();
  }

  private static String valueOf(MatchResult variable) {
    String value = System.getenv(variable.group(1));
    if (value == null) throw new IllegalArgumentException(variable.group(1) + " is not set");
    return Matcher.quoteReplacement(value);
  }
}
