import type { TopicSuffix } from '../../model/collections.ts';

/** Descriptions of a topic's key and value. */
interface TopicTexts {
  readonly key: string;
  readonly value: string;
}

const ROW: TopicTexts = {
  key: 'sourcedId of the row.',
  value: 'The row as it is now at the hub.',
};

const OTHERS: Partial<Record<TopicSuffix, TopicTexts>> = {
  'absence-versions': {
    key: 'sourcedId of the version.',
    value:
      'The absence record as the hub returned it: every version of every absence, also replaced and deleted ones.',
  },
  absences: {
    key: 'Absence id: sourcedId of the oldest version known when the absence was first published.',
    value: 'The current version of the absence.',
  },
  'absence-changes': { key: 'Absence id.', value: 'One event for each step of the absence.' },
  'class-students': { key: 'Id of the class.', value: 'The ids of its students, sorted.' },
  'afterschool-users': {
    key: '<afterschool id>|<sourcedId>; "|" and "%" inside a part are percent-encoded.',
    value: 'The row as it is now at the hub.',
  },
  schedules: {
    key: '<student id>|<YYYY-MM-DD>; "|" and "%" inside a part are percent-encoded.',
    value: 'All lessons of that student on that day.',
  },
  rejects: {
    key: '<collection>|<sourcedId>, or <collection>|sha256:<hash> for a row without an id.',
    value: 'A row that Rollcall could not decode, as JSON text, and the reason.',
  },
  progress: {
    key: 'Name of a collection, or @owner.',
    value: 'How far the collection is, or which process owns the tenant.',
  },
};

export function topicTexts(suffix: TopicSuffix): TopicTexts {
  return OTHERS[suffix] ?? ROW;
}
