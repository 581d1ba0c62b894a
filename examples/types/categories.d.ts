// Made from avro/categories.avsc.
export interface Category {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	title?: null | undefined | string;
	weight?: null | undefined | number;
	additionalFields?: null | undefined | string;
}
