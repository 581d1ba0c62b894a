// Made from avro/classes.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface SchoolClass {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	title?: null | undefined | string;
	classCode?: null | undefined | string;
	classType?: null | undefined | string;
	location?: null | undefined | string;
	grades?: null | undefined | string[];
	subjects?: null | undefined | string[];
	course?: null | undefined | GuidRef;
	school?: null | undefined | GuidRef;
	terms?: null | undefined | GuidRef[];
	subjectCodes?: null | undefined | string[];
	periods?: null | undefined | string[];
	resources?: null | undefined | GuidRef[];
	additionalFields?: null | undefined | string;
}
