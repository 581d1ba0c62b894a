// Made from avro/schedules.avsc.
export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface Lesson {
	id?: null | undefined | string;
	title?: null | undefined | string;
	start?: null | undefined | number;
	end?: null | undefined | number;
	classes?: null | undefined | GuidRef[];
	teachers?: null | undefined | GuidRef[];
	rooms?: null | undefined | string[];
	cancelled?: null | undefined | boolean;
	raw: string;
}

export interface Schedule {
	student: string;
	date: number;
	lessons: Lesson[];
}
