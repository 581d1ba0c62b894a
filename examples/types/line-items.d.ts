// Made from avro/line-items.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface LearningObjectiveSet {
	source?: null | undefined | string;
	learningObjectiveIds?: null | undefined | string[];
}

export interface LineItem {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	title?: null | undefined | string;
	description?: null | undefined | string;
	assignDate?: null | undefined | number;
	dueDate?: null | undefined | number;
	class?: null | undefined | GuidRef;
	school?: null | undefined | GuidRef;
	category?: null | undefined | GuidRef;
	gradingPeriod?: null | undefined | GuidRef;
	academicSession?: null | undefined | GuidRef;
	scoreScale?: null | undefined | GuidRef;
	resultValueMin?: null | undefined | number;
	resultValueMax?: null | undefined | number;
	learningObjectiveSet?: null | undefined | LearningObjectiveSet[];
	additionalFields?: null | undefined | string;
}
