// Made from avro/absence-summaries.avsc.
export interface AbsenceSummary {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	additionalFields?: null | undefined | string;
}
