// Made from avro/progress.avsc.
export interface CompleteFullSync {
	syncId: string;
	startedAt: number;
	offsets: { [index:string]:number };
	rows: number;
	rowsNotFound: number;
	rowsRejected: number;
	rowsWithoutId: number;
	rowsOnHold: number;
}

export interface Progress {
	collection: string;
	sequence?: null | undefined | number;
	transactionId?: null | undefined | string;
	syncId?: null | undefined | string;
	mode?: null | undefined | string;
	complete?: null | undefined | boolean;
	startedAt?: null | undefined | number;
	rowsSeen?: null | undefined | number;
	rowsPublished?: null | undefined | number;
	rowsRejected?: null | undefined | number;
	rowsRemoved?: null | undefined | number;
	rowsOnHold?: null | undefined | number;
	totalAtStart?: null | undefined | number;
	totalAtEnd?: null | undefined | number;
	watermark?: null | undefined | number;
	offsets: { [index:string]:number };
	lastCompleteFull?: null | undefined | CompleteFullSync;
	lifeId?: null | undefined | string;
	owner?: null | undefined | string;
	ownedSince?: null | undefined | number;
	timeZone?: null | undefined | string;
}
