// Made from avro/enrollments.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface Enrollment {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	user?: null | undefined | GuidRef;
	class?: null | undefined | GuidRef;
	school?: null | undefined | GuidRef;
	role?: null | undefined | string;
	primary?: null | undefined | boolean;
	beginDate?: null | undefined | number;
	endDate?: null | undefined | number;
	additionalFields?: null | undefined | string;
}
