// Made from avro/orgs.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface Org {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	name?: null | undefined | string;
	type?: null | undefined | string;
	identifier?: null | undefined | string;
	parent?: null | undefined | GuidRef;
	children?: null | undefined | GuidRef[];
	additionalFields?: null | undefined | string;
}
