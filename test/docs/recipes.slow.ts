import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from '@jest/globals'
import { root } from '../repository/source-files.js'
import { followPages } from '../tutorial/follow.js'
import { readPages } from '../tutorial/pages.js'

/** Runtimes that come as npm packages of their own: `npm install -g bun deno`. */
const runtimes = ['bun', 'deno']
const isHere = (name: string): boolean => spawnSync(name, ['--version']).status === 0

describe.each(readPages(join(root, 'docs/recipes'), /^[a-z].+\.md$/))(
  'the recipes, each in a folder of its own',
  (page) => {
    const runtime = runtimes.find((name) => page.name === `${name}.md`)
    if (runtime === undefined || isHere(runtime)) followPages([page], 'sqlite')
    else it.skip(`does what ${page.name} says: ${runtime} is not installed`, () => undefined)
  },
)
