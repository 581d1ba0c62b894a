import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In each part of a run every project has its share: some wait for services, others compute. */
const PARTS = 6;

/**
 * Runs the projects beside each other instead of one after another. A worker keeps its modules from file to file of one
 * project, so those of a project stand together within a part. Within a project large files come first, so that no long
 * one begins last.
 */
export class InterleavingSequencer extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(specs, ({ project }) => project.name);
    const placed = [...projects].flatMap(([name, ofProject]) => {
      const sizes = new Map(ofProject.map((spec) => [spec, statSync(spec.moduleId).size]));
      const sorted = ofProject.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0));
      return sorted.map((spec, at) => ({ spec, name, part: Math.floor((PARTS * at) / sorted.length) }));
    });
    // What waits begins before the unit tests of its part.
    const ordered = placed.toSorted((a, b) => a.part - b.part || a.name.localeCompare(b.name));
    return ordered.map(({ spec }) => spec);
  }
}
