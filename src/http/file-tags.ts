/**
 * ETags of files whose time does not tell versions apart: images of Nix, Bazel and jib give every file the same time, so
 * a new version of the same size would look unchanged. Source: decisions, Responses, files and streams.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { BoundedCache } from '../core/collections.js'

/** The earliest time in a ZIP file is the start of 1980 in local time. Two days more cover all time zones. */
const earliestTime = Date.UTC(1980, 0, 3)

/**
 * False for a time that build tools give to all files, and for a time in the future.
 *
 * @param modified milliseconds of the Unix epoch
 */
export function isTimeReliable(modified: number): boolean {
  return modified > earliestTime && modified <= Date.now()
}

const tags = new BoundedCache<Promise<string>>(1000)

/**
 * A weak ETag that the content decides. The content is read once for each version of the file on this machine.
 *
 * @param path absolute
 * @param state a text that changes whenever the file is written or replaced
 */
export function contentTag(path: string, state: string): Promise<string> {
  const key = `${path}\0${state}`
  const tag = tags.get(key, () => readTag(path))
  tag.catch(() => {
    tags.delete(key)
  })
  return tag
}

async function readTag(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return `W/"${hash.digest('base64url').slice(0, 27)}"`
}
