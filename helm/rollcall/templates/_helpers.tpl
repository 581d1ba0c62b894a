{{- define "rollcall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rollcall.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "rollcall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "rollcall.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels that a selector may name come last, so that commonLabels cannot change them. */}}
{{- define "rollcall.labels" -}}
{{- with omit .Values.commonLabels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/part-of" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" }}
{{- toYaml . }}
{{ end -}}
{{ include "rollcall.selectorLabels" . }}
app.kubernetes.io/part-of: {{ include "rollcall.name" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rollcall.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "rollcall.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "rollcall.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Rollcall follows its tenants and `deletions` while it runs. A change of anything else, or of the variables that the
configuration names, restarts the Pods by this checksum.
*/}}
{{- define "rollcall.podAnnotations" -}}
{{- $variables := regexFindAll "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}" (toJson .Values.config) -1 | uniq | sortAlpha }}
checksum/config: {{ list (omit .Values.config "tenants" "deletions") $variables | toJson | sha256sum }}
{{- if and .Values.metrics.annotations (not .Values.metrics.podMonitor.enabled) }}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .Values.config.http.port | quote }}
prometheus.io/path: /metrics
{{- end }}
{{- end }}

{{/* The annotations of an object. Takes a dict: root, and own, its own ones, which win; nothing if there are none. */}}
{{- define "rollcall.annotations" -}}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (default dict .own) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Selects the metrics of this release among those of others. A PodMonitor names the job after itself. */}}
{{- define "rollcall.metricSelector" -}}
{{- if .Values.metrics.prometheusRule.selector -}}
{{- .Values.metrics.prometheusRule.selector -}}
{{- else if .Values.metrics.podMonitor.enabled -}}
namespace={{ .Release.Namespace | quote }}, job="{{ .Release.Namespace }}/{{ include "rollcall.fullname" . }}"
{{- else -}}
namespace={{ .Release.Namespace | quote }}
{{- end -}}
{{- end }}

{{/* The Secrets whose keys are files, as a JSON list: volume, secret, path. */}}
{{- define "rollcall.secretFiles" -}}
{{- $names := .Values.existingSecretFiles -}}
{{- $mounts := list -}}
{{- if kindIs "slice" $names -}}
{{- range $index, $name := $names -}}
{{- $mounts = append $mounts (dict "volume" (printf "secrets-%d" $index) "secret" $name "path" (printf "/etc/rollcall/secrets/%s" $name)) -}}
{{- end -}}
{{- else if $names -}}
{{- $mounts = append $mounts (dict "volume" "secrets" "secret" $names "path" "/etc/rollcall/secrets") -}}
{{- end -}}
{{- toJson $mounts -}}
{{- end }}
