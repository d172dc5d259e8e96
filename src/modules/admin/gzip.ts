/** Compresses texts of the page: its script, its styles and the schema, which shrink to a third or less. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { HttpRequest } from '../../index.js'

export const compress = promisify(gzip)

export function acceptsGzip({ headers }: HttpRequest): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(headers['accept-encoding'] ?? '')
}
