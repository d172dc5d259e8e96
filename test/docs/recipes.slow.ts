import { join } from 'node:path'
import { describe } from '@jest/globals'
import { root } from '../repository/source-files.js'
import { followPages } from '../tutorial/follow.js'
import { readPages } from '../tutorial/pages.js'

for (const page of readPages(join(root, 'docs/recipes'), /^[a-z].+\.md$/))
  describe('the recipes, each in a folder of its own', () => {
    followPages([page], 'sqlite')
  })
