/**
 * The copies of this package that the process has loaded. Linked packages, peer sets of pnpm and bundles can load several.
 * One copy cannot read the metadata of another. A class that one copy declares and another copy uses therefore stops the
 * start. Errors and responses work across copies.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Problem } from './declaration-error.js'

/** One copy, as the other copies see it. */
interface Copy {
  /** The URL of one of its files. */
  readonly url: string
  /** The request that this copy is serving. */
  servedRequest: () => object | undefined
  /** True while a command of this copy loads an application without starting it. */
  loadsApplication: boolean
}

/** Shared by all copies, which may have different versions: members may be added, but not changed. */
interface Registry {
  readonly copies: Copy[]
  /** The copies that declared a class. Standard decorators of members are known by the metadata of their class. */
  readonly owners: WeakMap<object, Set<Copy>>
}

const { copies, owners } = sharedRegistry()
const ownCopy: Copy = {
  url: import.meta.url,
  servedRequest: () => undefined,
  loadsApplication: false,
}
copies.push(ownCopy)

function sharedRegistry(): Registry {
  const key = Symbol.for('filigree.copies')
  const existing = Reflect.get(globalThis, key) as Registry | undefined
  if (existing !== undefined) return existing
  const registry: Registry = { copies: [], owners: new WeakMap() }
  Object.defineProperty(globalThis, key, { value: registry })
  return registry
}

export function hasOtherCopies(): boolean {
  return copies.length > 1
}

/** Records that this copy has declared something about a class, or about the metadata of its standard decorators. */
export function markDeclared(declared: object): void {
  const existing = owners.get(declared)
  if (existing === undefined) owners.set(declared, new Set([ownCopy]))
  else existing.add(ownCopy)
}

/**
 * @param declared a class, or the metadata of its standard decorators
 * @param name the name of the class
 * @returns a problem that names both copies, if another copy has declared something about it
 */
export function findOtherCopy(declared: object, name: string): Problem | undefined {
  const other = [...(owners.get(declared) ?? [])].find((copy) => copy !== ownCopy)
  return other && secondCopy(`${name} was declared with`, other)
}

/**
 * Adds that the process has loaded another copy, because other problems may be its effect: a class of another copy is an
 * unknown provider or module.
 */
export function explainOtherCopies(problems: readonly Problem[]): readonly Problem[] {
  const other = copies.find((copy) => copy !== ownCopy)
  if (other === undefined || problems.some(({ code }) => code === secondCopyCode)) return problems
  return [...problems, secondCopy('The process has also loaded', other)]
}

/** @returns a problem if a command of another copy is loading this application, which must not start */
export function findLoadingCopy(): Problem | undefined {
  const other = copies.find((copy) => copy !== ownCopy && copy.loadsApplication)
  return other && secondCopy('The command was run from', other)
}

/** Tells other copies that a command of this copy loads an application without starting it. */
export function setLoadsApplication(loads: boolean): void {
  ownCopy.loadsApplication = loads
}

/** Sets how other copies find the request that this copy is serving. */
export function provideServedRequest(find: () => object | undefined): void {
  ownCopy.servedRequest = find
}

/** @returns the request that another copy is serving, if any */
export function requestOfOtherCopy(): object | undefined {
  if (!hasOtherCopies()) return undefined
  for (const copy of copies) {
    const request = copy === ownCopy ? undefined : copy.servedRequest()
    if (request !== undefined) return request
  }
  return undefined
}

const secondCopyCode = 'SECOND_COPY'

/** @param beginning such as `Item was declared with` */
function secondCopy(beginning: string, other: Copy): Problem {
  const [own, second] = [pathOf(ownCopy), pathOf(other)]
  const code = secondCopyCode
  if (own === second) {
    return {
      code,
      message: `${beginning} another copy of filigree: ${own} was loaded twice.`,
      remedy: 'Load it in one way, and do not reset modules between its imports.',
    }
  }
  return {
    code,
    message: `${beginning} the copy of filigree in ${second}, which the copy in ${own} cannot read.`,
    remedy:
      'Install one copy: npm ls filigree lists them. Shared packages declare filigree as a peer dependency.',
  }
}

/** @returns the folder of the package, or the file if the copy is part of a bundle */
function pathOf({ url }: Copy): string {
  if (!url.startsWith('file:')) return url
  const file = fileURLToPath(url)
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder))
    if (nameOfPackage(folder) === 'filigree') return folder
  return file
}

function nameOfPackage(folder: string): unknown {
  try {
    const file: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return (file as { readonly name?: unknown } | null)?.name
  } catch {
    // Most folders have no package.json.
    return undefined
  }
}
