import { describe, expect, it } from 'vitest';
import { wrapHelp } from '../../../src/cli/help-text.ts';

describe('the text below the options of --help', () => {
  it('joins the lines of a paragraph, and breaks it at the width', () => {
    expect(wrapHelp('Reads the hub and\nthe topics again.\n\nWrites nothing.', 24)).toBe(
      'Reads the hub and the\ntopics again.\n\nWrites nothing.',
    );
  });

  it('wraps what explains an item in its own column, with the deeper lines that belong to it', () => {
    const text = 'Kinds:\n  gap      a step of an absence\n           is missing\n  index    differs';
    expect(wrapHelp(text, 30)).toBe(
      'Kinds:\n  gap      a step of an absence\n           is missing\n  index    differs',
    );
  });

  it('leaves a command whole, however long it is', () => {
    const text = "Examples:\n  rollcall verify --json | jq -c '.tenants[]'";
    expect(wrapHelp(text, 30)).toBe(text);
  });
});
