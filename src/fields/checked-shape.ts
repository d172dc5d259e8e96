/** The description of a class whose rules hold values (defaults, examples, choices) that its own fields accept. */
import { addProblems, DeclarationError, type Problem } from '../errors/declaration-error.js'
import type { Class } from '../metadata/class-metadata.js'
import { findValueProblems } from './rule-values.js'
import { fieldName, readShape, type Shape } from './shape.js'

const problemsOf = new WeakMap<Class, Problem[]>()

/**
 * Describes a class as `readShape` does, and checks the values of its rules and of its nested classes.
 *
 * @param problems gets the class's faults, each once; without it they are thrown
 * @throws {DeclarationError} the class has faults and nobody collects them
 */
export function readCheckedShape<T extends object>(type: Class<T>, problems?: Problem[]): Shape<T> {
  const shape = readShape(type, problems)
  const found = valueProblems(type, shape)
  if (problems !== undefined) addProblems(found, problems)
  else if (found.length > 0) throw new DeclarationError(found)
  return shape
}

function valueProblems(type: Class, shape: Shape): Problem[] {
  const cached = problemsOf.get(type)
  if (cached !== undefined) return cached
  const found: Problem[] = []
  // Nested classes may refer back to this one, which is known by now.
  problemsOf.set(type, found)
  findValueProblems(shape, (name) => fieldName(type, name), found)
  for (const { nested } of shape.fields) {
    const inner = nested === undefined ? undefined : resolve(nested)
    if (inner !== undefined) addProblems(valueProblems(inner, readShape(inner, [])), found)
  }
  return found
}

/** A thunk that names no class is a problem of its own, which is reported where the check is compiled. */
function resolve(nested: () => Class): Class | undefined {
  try {
    return nested()
  } catch {
    return undefined
  }
}
