import { describe, expect, it } from 'vitest'
import { type Membership, whyUnfit } from '../../src/store/mysql/group.ts'

const PRIMARY: Membership = { state: 'ONLINE', role: 'PRIMARY', members: 3, reached: 3, readOnly: 0 }

describe('a member of a replication group', () => {
  it('a member that is ONLINE, reaches a majority and accepts writes is used', () => {
    expect(whyUnfit(PRIMARY)).toBeNull()
    expect(whyUnfit({ ...PRIMARY, reached: 2 })).toBeNull()
  })

  it.each([
    ['that did not join', { state: null, role: null, members: 1, reached: 1 }, 'OFFLINE, not ONLINE'],
    ['that was expelled', { state: 'ERROR', role: '' }, 'ERROR, not ONLINE: run START GROUP_REPLICATION'],
    ['that is catching up', { state: 'RECOVERING' }, 'RECOVERING, not ONLINE'],
    ['without a majority', { reached: 1 }, 'it reaches only 1 of the 3 members of its group'],
    ['with half of the members', { members: 4, reached: 2 }, 'it reaches only 2 of the 4'],
    ['that is not the primary', { role: 'SECONDARY', readOnly: 1 }, 'it is a secondary of its group'],
    ['that is read-only', { readOnly: 1 }, 'it is read-only'],
  ])('%s is not used', (_, differs, why) => {
    expect(whyUnfit({ ...PRIMARY, ...differs })).toContain(why)
  })
})
