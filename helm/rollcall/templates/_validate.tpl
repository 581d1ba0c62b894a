{{/*
Checks that the schema cannot express, or whose errors a person would not understand. It reports all problems at once.
*/}}
{{- define "rollcall.validate" -}}
{{- $problems := list -}}
{{- $config := .Values.config -}}
{{- if not $config.tenants -}}
{{- $problems = append $problems "config.tenants names no tenant: give each an id and its hub (baseUrl, tokenUrl, clientId, clientSecret)." -}}
{{- end -}}
{{- if not (dig "kafka" "brokers" nil $config) -}}
{{- $problems = append $problems "config.kafka.brokers names no broker: give a list of host:port." -}}
{{- end -}}
{{- if not (dig "registry" "url" "" $config) -}}
{{- $problems = append $problems "config.registry.url is missing: give the address of the schema registry." -}}
{{- end -}}
{{- $host := dig "http" "host" "" $config -}}
{{- if not (has $host (list "0.0.0.0" "::")) -}}
{{- $problems = append $problems (printf "config.http.host is %q: it must be 0.0.0.0 (or ::), else probes and scrapers cannot reach the Pod." $host) -}}
{{- end -}}
{{- $port := dig "http" "port" 0 $config -}}
{{- if or (kindIs "string" $port) (lt (int $port) 1) -}}
{{- $problems = append $problems (printf "config.http.port is %v: it must be a number from 1 to 65535, because probes and Service name it." $port) -}}
{{- end -}}
{{- if and (gt (int .Values.replicaCount) 1) (not (dig "redis" "url" "" $config)) -}}
{{- $problems = append $problems "replicaCount is above 1 and config.redis.url is missing: without Redis commands cannot reach the Pod that has a tenant." -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{- $problems = append $problems "networkPolicy.egress is empty: name the hub, its token endpoint, Kafka, the schema registry and Redis, or Rollcall reaches none of them." -}}
{{- end -}}
{{- $problems = concat $problems (include "rollcall.openSecrets" . | fromJsonArray) (include "rollcall.unfilled" . | fromJsonArray) -}}
{{- if $problems -}}
{{- fail (printf "\n\nThese values cannot work:\n- %s\n" (join "\n- " $problems)) -}}
{{- end -}}
{{- end }}

{{/* Secrets as plain text in the configuration: anyone who may read ConfigMaps could read them. */}}
{{- define "rollcall.openSecrets" -}}
{{- $config := .Values.config -}}
{{- $found := list -}}
{{- $secrets := dict
  "config.kafka.sasl.password" (dig "kafka" "sasl" "password" "" $config)
  "config.kafka.sasl.clientSecret" (dig "kafka" "sasl" "clientSecret" "" $config)
  "config.registry.bearerToken" (dig "registry" "bearerToken" "" $config)
  "config.registry.oauth.clientSecret" (dig "registry" "oauth" "clientSecret" "" $config)
  "config.registry.password" (dig "registry" "password" "" $config)
  "config.redis.password" (dig "redis" "password" "" $config)
  "config.notify.token" (dig "notify" "token" "" $config)
  "config.redis.sentinel.password" (dig "redis" "sentinel" "password" "" $config)
  "config.redis.ssl.passphrase" (dig "redis" "ssl" "passphrase" "" $config)
  "config.pseudonymise.key" (dig "pseudonymise" "key" "" $config)
-}}
{{- range $index, $tenant := $config.tenants -}}
{{- $_ := set $secrets (printf "config.tenants[%d].hub.clientSecret" $index) (dig "hub" "clientSecret" "" $tenant) -}}
{{- end -}}
{{- range $path, $value := $secrets -}}
{{- if and $value (not (regexMatch "^\\$\\{[^}]+\\}$" $value)) -}}
{{- $found = append $found $path -}}
{{- end -}}
{{- end -}}
{{- if regexMatch "^https://hooks\\.slack\\.com/[^$]*$" (dig "notify" "url" "" $config) -}}
{{- $found = append $found "config.notify.url" -}}
{{- end -}}
{{- $redisUrl := dig "redis" "url" "" $config -}}
{{- if and (contains "@" $redisUrl) (not (contains "${" $redisUrl)) -}}
{{- $found = append $found "config.redis.url (the password in it)" -}}
{{- end -}}
{{- range $part := list "kafka" "registry" -}}
{{- $ssl := dig $part "ssl" nil $config -}}
{{- if kindIs "map" $ssl -}}
{{- if contains "-----BEGIN" (dig "key" "" $ssl) -}}
{{- $found = append $found (printf "config.%s.ssl.key" $part) -}}
{{- end -}}
{{- $passphrase := dig "passphrase" "" $ssl -}}
{{- if and $passphrase (not (regexMatch "^\\$\\{[^}]+\\}$" $passphrase)) -}}
{{- $found = append $found (printf "config.%s.ssl.passphrase" $part) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $ssl := dig "redis" "ssl" dict $config -}}
{{- if contains "-----BEGIN" (dig "key" "" $ssl) -}}
{{- $found = append $found "config.redis.ssl.key" -}}
{{- end -}}
{{- $problems := list -}}
{{- range $found -}}
{{- $problems = append $problems (printf "%s is plain text and would be readable in the ConfigMap: put it into a Secret, and write ${NAME} or ${file:/path} here." .) -}}
{{- end -}}
{{- toJson $problems -}}
{{- end }}

{{/* Placeholders that nothing in these values could fill. The content of a named Secret is not visible here. */}}
{{- define "rollcall.unfilled" -}}
{{- $problems := list -}}
{{- $text := .Values.config | toJson | replace "$${" "" -}}
{{- if not (or .Values.existingSecret .Values.extraEnvFrom) -}}
{{- $known := list -}}
{{- range .Values.extraEnv -}}
{{- $known = append $known .name -}}
{{- end -}}
{{- range regexFindAll "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}" $text -1 | uniq -}}
{{- $name := . | trimPrefix "${" | trimSuffix "}" -}}
{{- if not (has $name $known) -}}
{{- $problems = append $problems (printf "the configuration uses ${%s}, which nothing sets: name its Secret in existingSecret, or add it to extraEnv." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (contains "${file:" $text) (not (or .Values.existingSecretFiles .Values.extraVolumes)) -}}
{{- $problems = append $problems "the configuration uses ${file:…}, but no files are mounted: name the Secret in existingSecretFiles (its keys are files in /etc/rollcall/secrets), or add extraVolumes and extraVolumeMounts." -}}
{{- end -}}
{{- $folders := list -}}
{{- range include "rollcall.secretFiles" . | fromJsonArray -}}
{{- $folders = append $folders .path -}}
{{- end -}}
{{- range regexFindAll "\\$\\{file:/etc/rollcall/secrets/[^}]+\\}" $text -1 | uniq -}}
{{- $path := . | trimPrefix "${file:" | trimSuffix "}" -}}
{{- $isMounted := has (dir $path) $folders -}}
{{- range $.Values.extraVolumeMounts -}}
{{- $isMounted = or $isMounted (hasPrefix .mountPath $path) -}}
{{- end -}}
{{- if and $folders (not $isMounted) -}}
{{- $problems = append $problems (printf "the configuration uses ${file:%s}, but existingSecretFiles has its files in %s: a list of Secrets makes a folder of each, and a single name makes none." $path (join " and " $folders)) -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end }}
