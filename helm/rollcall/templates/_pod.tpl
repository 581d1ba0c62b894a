{{/* What the Pod of the Deployment and those of the Jobs have in common: environment, files, and the user. */}}
{{/* Takes a dict: root, and secret, the name of a further Secret whose keys win. */}}
{{- define "rollcall.env" -}}
{{- with .root -}}
env:
  - name: ROLLCALL_CONFIG
    value: /etc/rollcall/config/rollcall.yaml
  - name: ROLLCALL_LOG_LEVEL
    value: {{ .Values.logLevel }}
  # How the commands that Rollcall prints are given.
  - name: ROLLCALL_COMMAND
    value: kubectl exec -n {{ .Release.Namespace }} deployment/{{ include "rollcall.fullname" . }} -- rollcall
  # Of one roll-out the Pods have another one than those that they replace.
  - name: ROLLCALL_REVISION
    valueFrom:
      fieldRef:
        fieldPath: metadata.labels['pod-template-hash']
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if or .Values.existingSecret .Values.extraEnvFrom $.secret }}
envFrom:
  {{- with .Values.existingSecret }}
  - secretRef:
      name: {{ . }}
  {{- end }}
  {{- with .Values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with $.secret }}
  - secretRef:
      name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "rollcall.volumeMounts" -}}
volumeMounts:
  - name: config
    mountPath: /etc/rollcall/config
    readOnly: true
  {{- range include "rollcall.secretFiles" . | fromJsonArray }}
  - name: {{ .volume }}
    mountPath: {{ .path }}
    readOnly: true
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Takes a dict: root, and configMap, the name of the ConfigMap with rollcall.yaml. */}}
{{- define "rollcall.volumes" -}}
volumes:
  - name: config
    configMap:
      name: {{ .configMap }}
  {{- range include "rollcall.secretFiles" .root | fromJsonArray }}
  - name: {{ .volume }}
    secret:
      secretName: {{ .secret }}
      defaultMode: 0440
  {{- end }}
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "rollcall.scheduling" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
A Job that runs one verb to its end. Takes a dict: root, component, args, configMap, and secret, if it has one of its own.
It has no sidecar: with one it would never end.
*/}}
{{- define "rollcall.jobSpec" -}}
backoffLimit: {{ .root.Values.jobs.backoffLimit }}
activeDeadlineSeconds: {{ .root.Values.jobs.activeDeadlineSeconds }}
# Helm does not remove the Jobs of hooks with the release: a day for their logs, also after an uninstallation.
ttlSecondsAfterFinished: 86400
template:
  metadata:
    labels:
      {{- toYaml (mergeOverwrite (deepCopy .root.Values.podLabels) (include "rollcall.jobLabels" . | fromYaml)) | nindent 6 }}
  spec:
    restartPolicy: Never
    automountServiceAccountToken: false
    enableServiceLinks: false
    {{- include "rollcall.scheduling" .root | nindent 4 }}
    containers:
      - name: rollcall
        image: {{ include "rollcall.image" .root | quote }}
        imagePullPolicy: {{ .root.Values.image.pullPolicy }}
        args: {{ toJson .args }}
        {{- include "rollcall.env" (dict "root" .root "secret" .secret) | nindent 8 }}
        resources:
          {{- toYaml .root.Values.jobs.resources | nindent 10 }}
        securityContext:
          {{- toYaml .root.Values.securityContext | nindent 10 }}
        {{- include "rollcall.volumeMounts" .root | nindent 8 }}
    {{- include "rollcall.volumes" . | nindent 4 }}
{{- end }}

{{/* Other selector labels than the Deployment's, so that the Service never finds a Job. */}}
{{- define "rollcall.jobLabels" -}}
{{- with omit .root.Values.commonLabels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/part-of" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" }}
{{- toYaml . }}
{{ end -}}
app.kubernetes.io/name: {{ include "rollcall.name" .root }}-{{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/part-of: {{ include "rollcall.name" .root }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}
