/** Explains why an optional package of the application cannot be loaded. */
import { DeclarationError, asProblems, type Problem } from './declaration-error.js'

/** @returns the command that installs a package on this runtime: `npm install pg`, `bun add pg` or `deno add npm:pg`. */
export function installCommand(
  name: string,
  versions: Readonly<Partial<Record<string, string>>> = process.versions,
): string {
  if (versions.bun !== undefined) return `bun add ${name}`
  if (versions.deno !== undefined) return `deno add npm:${name}`
  return `npm install ${name}`
}

export interface MissingPackage extends Problem<string> {
  /** The package name, as imported. */
  readonly name: string
}

/**
 * @param missing the message if the package is not installed
 * @param cause the error that the import threw
 * @returns the error to throw. For an installed package, it states why loading failed, such as a missing dependency or
 * the version of Node.
 */
export function missingPackage(missing: MissingPackage, cause: unknown): DeclarationError {
  const { name, code, message, remedy } = missing
  if (isMissing(name, cause))
    return new DeclarationError(asProblems([{ code, message, remedy }]), { cause })
  const text = String((cause as { message?: unknown } | null)?.message ?? cause)
  const reason = text.split('\n', 1)[0]?.replace(/\.$/, '') ?? ''
  const failing = {
    code,
    message: `The package ${name} is installed and cannot be loaded: ${reason}.`,
    remedy: `Fix this error, or install a version that runs on ${runtime()}.`,
  }
  return new DeclarationError(asProblems([failing]), { cause })
}

/**
 * True if the package itself is missing. The message may name further packages and files after it, such as the
 * importing file.
 */
function isMissing(name: string, cause: unknown): boolean {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown }
  if (!/^(?:ERR_)?MODULE_NOT_FOUND$/.test(String(code))) return false
  const [first] = /(['"])(.*?)\1/.exec(String(message))?.slice(2) ?? []
  return first === undefined || first === name || first.endsWith(`/${name}`)
}

function runtime(): string {
  const { bun, deno, node } = process.versions as Partial<Record<string, string>>
  if (bun !== undefined) return `Bun ${bun}`
  return deno === undefined ? `Node ${node ?? ''}` : `Deno ${deno}`
}
