/**
 * Collects the mistakes in the declarations of an application, so that one report names all of them. Functions that read
 * declarations receive the collector and continue after a mistake.
 */
import { DeclarationError, withoutRepetition, type Problem } from './declaration-error.js'

export class Problems {
  #found = new Set<Problem>()
  #where = ''

  /** In the order in which they were added, without repetitions. */
  get list(): readonly Problem[] {
    return withoutRepetition([...this.#found])
  }

  /** To see whether a step has added problems, compare the count before and after. */
  get count(): number {
    return this.#found.size
  }

  /**
   * The same collector for one place. Messages that are added through it begin with the place: `problems.at('Item.price')`
   * and the message `the default is missing.` add `Item.price: the default is missing.`
   */
  at(where: string): Problems {
    const problems = new Problems()
    problems.#found = this.#found
    problems.#where = `${where}: `
    return problems
  }

  add({ code, message, remedy }: Problem): void {
    this.#found.add({ code, message: this.#where + message, remedy })
  }

  /**
   * Adds finished problems, whose messages name their place. Each is added once, although several routes that use one
   * invalid class find the same problems.
   *
   * @param found the packages' problems may have codes of their own
   */
  addAll(found: Iterable<Problem<string>>): void {
    for (const problem of found) this.#found.add(problem as Problem)
  }

  /** @throws {DeclarationError} with all problems */
  throwIfAny(): void {
    if (this.count > 0) throw new DeclarationError(this.list)
  }
}
