import { join } from 'node:path'
import { describe } from '@jest/globals'
import { root } from '../repository/source-files.js'
import { followPages } from './follow.js'
import { readPages } from './pages.js'

describe('the tutorial on SQLite', () => {
  followPages(readPages(join(root, 'docs/tutorial')), 'sqlite')
})
