// Made from avro/academic-sessions.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface AcademicSession {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	title?: null | undefined | string;
	startDate?: null | undefined | number;
	endDate?: null | undefined | number;
	type?: null | undefined | string;
	parent?: null | undefined | GuidRef;
	children?: null | undefined | GuidRef[];
	schoolYear?: null | undefined | string;
	additionalFields?: null | undefined | string;
}
