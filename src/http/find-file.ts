/**
 * Finds files of a folder. Paths that could lead out of it are rejected, not normalized. Source: specification, "File
 * serving".
 */
import { statSync, type Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import type { FileBody } from './file-reply.js'

export interface FoundFile {
  /** The root, all links resolved. */
  readonly root: string
  /** The file's path below it, all links resolved. */
  readonly path: string
  /** Bytes. */
  readonly size: number
  /** When the content was written, in milliseconds of the Unix epoch. */
  readonly modifiedAt: number
  /** Changes whenever the file is written or replaced on this machine. */
  readonly fingerprint: string
}

/** Finds the file, with all links resolved; `undefined` if it does not exist or must not be visible. */
export async function findFile({
  path,
  root,
  wellKnown,
}: FileBody): Promise<FoundFile | undefined> {
  if (!isPlainPath(path, wellKnown)) return undefined
  try {
    const realRoot = await realpath(root)
    const real = await realpath(resolve(realRoot, path))
    const isInside = real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)
    if (!isInside) return undefined
    const stats = await lstat(real)
    if (!stats.isFile()) return undefined
    const below = relative(realRoot, real)
    if (!isPlainPath(below.replaceAll(sep, '/'), wellKnown)) return undefined
    const { size, mtimeMs, ctimeMs, ino } = stats
    const fingerprint = `${ino} ${size} ${mtimeMs} ${ctimeMs}`
    return { root: realRoot, path: below, size, modifiedAt: mtimeMs, fingerprint }
  } catch (error) {
    if (isAbsence(error)) return undefined
    throw error
  }
}

/**
 * True if all parts have a name and are not hidden, and nothing in them is a separator for a file system or a decoder.
 *
 * @param wellKnown the first part may be `.well-known`
 */
export function isPlainPath(path: string, wellKnown = false): boolean {
  if (/[\\\0]|%(?:00|2e|2f|5c)/i.test(path)) return false
  return path
    .split('/')
    .every(
      (part, index) =>
        part !== '' &&
        (!part.startsWith('.') || (wellKnown && index === 0 && part === '.well-known')),
    )
}

/**
 * Errors of the file system that depend on the path alone: it names nothing, is too long or not text for the file
 * system, or names a file that this process may not read.
 */
const absenceCodes: ReadonlySet<unknown> = new Set([
  ...['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EILSEQ', 'EINVAL'],
  ...['EACCES', 'EPERM'],
])

export function isAbsence(error: unknown): boolean {
  return absenceCodes.has((error as NodeJS.ErrnoException | null)?.code)
}

/** @returns undefined if a client gets 404 for the path. @throws errors of the file system itself */
export function statIfPresent(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    if (isAbsence(error)) return undefined
    throw error
  }
}
