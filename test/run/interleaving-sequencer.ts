import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { interleave } from './interleave.ts';

/** Runs the projects beside each other instead of one after another. */
export class InterleavingSequencer extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const files = specs.map((spec) => ({
      spec,
      project: spec.project.name,
      cost: statSync(spec.moduleId).size,
    }));
    return interleave(files).map(({ spec }) => spec);
  }
}
