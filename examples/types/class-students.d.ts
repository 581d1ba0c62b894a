// Made from avro/class-students.avsc.
export interface ClassStudents {
	classId: string;
	students: string[];
}
