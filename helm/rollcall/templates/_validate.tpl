{{/*
Checks that the schema cannot express, or whose errors a person would not understand. It reports all problems at once.
*/}}
{{- define "rollcall.validate" -}}
{{- $problems := list -}}
{{- $config := .Values.config -}}
{{- if regexMatch ":[^/]*$" .Values.image.repository -}}
{{- $problems = append $problems "image.repository ends with a tag: write the tag into image.tag." -}}
{{- end -}}
{{- if not $config.tenants -}}
{{- $problems = append $problems "config.tenants names no tenant: give each tenant an id and its hub (baseUrl, tokenUrl, clientId, clientSecret)." -}}
{{- end -}}
{{- if not (dig "kafka" "brokers" nil $config) -}}
{{- $problems = append $problems "config.kafka.brokers names no broker: give a list of host:port." -}}
{{- end -}}
{{- if not (dig "registry" "url" "" $config) -}}
{{- $problems = append $problems "config.registry.url is missing: give the address of the schema registry." -}}
{{- end -}}
{{- $host := dig "http" "host" "" $config -}}
{{- if not (has $host (list "0.0.0.0" "::")) -}}
{{- $problems = append $problems (printf "config.http.host is %q: it must be 0.0.0.0 (or ::), because otherwise probes and Prometheus cannot reach the Pod." $host) -}}
{{- end -}}
{{- $port := dig "http" "port" 0 $config -}}
{{- if or (kindIs "string" $port) (lt (int $port) 1) -}}
{{- $problems = append $problems (printf "config.http.port is %v: it must be a number from 1 to 65535, because the probes and the Service name it." $port) -}}
{{- end -}}
{{- if and (gt (int .Values.replicaCount) 1) (not (dig "redis" "url" "" $config)) -}}
{{- $problems = append $problems "replicaCount is above 1, but config.redis.url is missing: without Redis, commands cannot reach the Pod that mirrors a tenant. Set config.redis.url." -}}
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
{{- $problems := list -}}
{{- range include "rollcall.openSecretsIn" (dict "path" "config" "value" .Values.config) | fromJsonArray -}}
{{- $problems = append $problems (printf "%s is plain text and would be readable in the ConfigMap: put it into a Secret, and write ${NAME} or ${file:/path} here." .) -}}
{{- end -}}
{{- toJson $problems -}}
{{- end }}

{{/* The paths of such secrets, as a JSON list. Takes a dict: value, and path, where it is. The names are those of isSecret in src/config/clear-text.ts. */}}
{{- define "rollcall.openSecretsIn" -}}
{{- $path := .path -}}
{{- $found := list -}}
{{- if kindIs "map" .value -}}
{{- range $key, $value := .value -}}
{{- $found = concat $found (include "rollcall.openSecretsIn" (dict "path" (printf "%s.%s" $path $key) "value" $value) | fromJsonArray) -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range $index, $value := .value -}}
{{- $found = concat $found (include "rollcall.openSecretsIn" (dict "path" (printf "%s[%d]" $path $index) "value" $value) | fromJsonArray) -}}
{{- end -}}
{{- else if and (kindIs "string" .value) .value (not (contains "${" .value)) -}}
{{- if regexMatch "(?i)(secret|password|passphrase|bearerToken|\\.key|\\.token)$" $path -}}
{{- $found = append $found $path -}}
{{- else if regexMatch "^[a-z]+://[^/]*@" .value -}}
{{- $found = append $found (printf "%s (the password in it)" $path) -}}
{{- else if and (eq $path "config.notify.url") (hasPrefix "https://hooks.slack.com/" .value) -}}
{{- $found = append $found $path -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
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
{{- $problems = append $problems (printf "the configuration uses ${file:%s}, but the files of existingSecretFiles are in %s: with a list of Secrets each Secret has a folder of its own, and with a single name there is none." $path (join " and " $folders)) -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end }}
