package rollcall.join;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.avro.Schema;
import org.apache.kafka.common.errors.SerializationException;

/** Confluent's registry API, as far as {@link Schemas} needs it. Answers are kept: a schema never changes under its id. */
final class RegistryClient implements Schemas {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final String JSON = "application/vnd.schemaregistry.v1+json";

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
  private final ObjectMapper json = new ObjectMapper();
  private final Map<Integer, Schema> schemas = new ConcurrentHashMap<>();
  private final Map<String, Integer> ids = new ConcurrentHashMap<>();
  private final String url;

  /** `url`: base URL of the Confluent-compatible API. */
  RegistryClient(String url) {
    this.url = url.replaceAll("/+$", "");
  }

  @Override
  public Schema byId(int id) {
    return schemas.computeIfAbsent(
        id, each -> new Schema.Parser().parse(ask(request("/schemas/ids/" + each).GET()).get("schema").asText()));
  }

  @Override
  public int idOf(String subject, Schema schema) {
    return ids.computeIfAbsent(
        subject + "\n" + schema,
        each -> {
          String body = json.createObjectNode().put("schema", schema.toString()).toString();
          String path = "/subjects/" + URLEncoder.encode(subject, StandardCharsets.UTF_8) + "/versions";
          return ask(request(path).POST(HttpRequest.BodyPublishers.ofString(body))).get("id").asInt();
        });
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(url + path))
        .timeout(TIMEOUT)
        .header("Accept", JSON)
        .header("Content-Type", JSON);
  }

  private JsonNode ask(HttpRequest.Builder builder) {
    HttpRequest request = builder.build();
    try {
      HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() != 200) {
        throw new SerializationException(
            "the schema registry answered " + response.statusCode() + " to " + request.uri() + ": check ROLLCALL_REGISTRY_URL");
      }
      return json.readTree(response.body());
    } catch (JsonProcessingException error) {
      throw new SerializationException("the schema registry answered " + request.uri() + " with no JSON", error);
    } catch (IOException error) {
      throw new SerializationException("the schema registry does not answer " + request.uri(), error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new SerializationException("interrupted while asking the schema registry", error);
    }
  }
}
