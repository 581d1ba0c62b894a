// Made from avro/results.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface LearningObjectiveResult {
	learningObjectiveId?: null | undefined | string;
	score?: null | undefined | number;
	textScore?: null | undefined | string;
}

export interface LearningObjectiveScoreSet {
	source?: null | undefined | string;
	learningObjectiveResults?: null | undefined | LearningObjectiveResult[];
}

export interface Result {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	lineItem?: null | undefined | GuidRef;
	student?: null | undefined | GuidRef;
	class?: null | undefined | GuidRef;
	scoreScale?: null | undefined | GuidRef;
	scoreStatus?: null | undefined | string;
	score?: null | undefined | number;
	textScore?: null | undefined | string;
	scoreDate?: null | undefined | number;
	comment?: null | undefined | string;
	learningObjectiveSet?: null | undefined | LearningObjectiveScoreSet[];
	inProgress?: null | undefined | boolean;
	incomplete?: null | undefined | boolean;
	late?: null | undefined | boolean;
	missing?: null | undefined | boolean;
	additionalFields?: null | undefined | string;
}
