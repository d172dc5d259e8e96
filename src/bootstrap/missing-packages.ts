/**
 * Finds packages that the application needs as it is configured, that it installs itself, and that are missing: at the start,
 * not at the first use.
 */
import { createRequire } from 'node:module'
import type { Problem } from '../errors/declaration-error.js'
import { missingPackage, type MissingPackage } from '../errors/missing-package.js'

export interface FindPackagesOptions {
  /** True: they are loaded, which also finds those that cannot run here. False: they are only looked for, which is faster. */
  readonly loads: boolean
}

export async function findMissingPackages(
  needed: readonly MissingPackage[],
  { loads }: FindPackagesOptions,
): Promise<Problem[]> {
  const byName = new Map(needed.map((each) => [each.name, each]))
  const attempt = loads ? load : lookFor
  const found = await Promise.all([...byName.values()].map((each) => failureOf(each, attempt)))
  return found.flat()
}

async function failureOf(
  needed: MissingPackage,
  attempt: (name: string) => unknown,
): Promise<readonly Problem[]> {
  try {
    await attempt(needed.name)
    return []
  } catch (cause) {
    return missingPackage(needed, cause).problems
  }
}

function load(name: string): Promise<unknown> {
  return import(name)
}

function lookFor(name: string): void {
  try {
    createRequire(import.meta.url).resolve(name)
  } catch (error) {
    // Others are there, and only for `import`.
    if (String((error as { code?: unknown }).code).endsWith('NOT_FOUND')) throw error
  }
}
