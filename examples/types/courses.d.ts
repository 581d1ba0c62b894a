// Made from avro/courses.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface Course {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	title?: null | undefined | string;
	schoolYear?: null | undefined | GuidRef;
	courseCode?: null | undefined | string;
	grades?: null | undefined | string[];
	subjects?: null | undefined | string[];
	org?: null | undefined | GuidRef;
	subjectCodes?: null | undefined | string[];
	resources?: null | undefined | GuidRef[];
	additionalFields?: null | undefined | string;
}
