// Made from avro/rejects.avsc.
export interface Reject {
	collection: string;
	sourcedId?: null | undefined | string;
	reason: string;
	row?: null | undefined | string;
	firstSeenAt?: null | undefined | number;
}
