import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from '@jest/globals'
import { root } from '../repository/source-files.js'
import { followPages } from '../tutorial/follow.js'
import { readSteps } from '../tutorial/pages.js'

describe('the first page', () => {
  const steps = readSteps(readFileSync(join(root, 'README.md'), 'utf8'))
  followPages([{ name: 'README.md', steps }], 'sqlite')
})
