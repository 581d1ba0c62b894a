// Made from avro/absence-changes.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface AbsenceVersion {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	fromTime?: null | undefined | number;
	toTime?: null | undefined | number;
	absenceDurationUnit?: null | undefined | string;
	absenceDurationValue?: null | undefined | number;
	student?: null | undefined | GuidRef;
	school?: null | undefined | GuidRef[];
	schoolId?: null | undefined | string;
	term?: null | undefined | GuidRef;
	classesAffected?: null | undefined | GuidRef;
	replaces?: null | undefined | GuidRef;
	replacedBy?: null | undefined | GuidRef;
	deletedTime?: null | undefined | number;
	additionalFields?: null | undefined | string;
}

export interface AbsenceChange {
	absenceId: string;
	step: number;
	operation: string;
	version: AbsenceVersion;
	previousVersion?: null | undefined | AbsenceVersion;
	snapshot: boolean;
	cause: string;
	mergedInto?: null | undefined | string;
	detectedAt: number;
}
