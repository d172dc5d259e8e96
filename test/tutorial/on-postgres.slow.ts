import { describe } from '@jest/globals'
import { followTutorial } from './follow.js'

describe('the tutorial on PostgreSQL', () => {
  followTutorial('postgres')
})
