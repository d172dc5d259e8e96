/** The sources of the page of the GraphQL IDE, as a hash: the built page in `page` stores the one that it was built from. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname

export function hashSources() {
  const hash = createHash('sha256')
  const names = readdirSync(folder).filter((name) =>
    /\.(?:ts|css|mjs)$|^package-lock\.json$/.test(name),
  )
  for (const name of names.sort())
    hash.update(`${name}\n${readFileSync(join(folder, name), 'utf8')}`)
  return hash.digest('hex')
}
