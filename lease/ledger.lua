-- The rules of ledger.h once more, as one script that runs inside a store (Redis 7 or compatible). ledger.cc is the
-- reference: tests hold answers and stored state of both equal, to the last bit. Where one changes, so does the other.
--
-- Put into the binary by CMake. In front of it goes one line that says what time it is (`now`, in whole microseconds):
-- the store's TIME, and only in tests one that the asker names.
--
-- KEYS, all with one hash tag, so that they lie on one node of a cluster:
--   1 ledger    hash: credit, refilled_at, fencing; settings, settings_of, settings_since; and running sums over the
--               members: wanted, serving (of those that have not vanished), count, present_after (who was heard later
--               than that has not vanished, as `serving` counts it)
--   2 permits   hash: token -> "operation cost granted_at expires_at LENGTH holderinstance", LENGTH bytes of holder
--   3 members   hash: instance -> "wanted healthy refusal refused_at last_debit started settings"
--   4 heard     sorted set: instance, by when it was heard
-- ARGV:
--   verb, instance of the settings, its master's start, settings "permits ttl rate per burst minimum"; then
--   acquire    operation holder routine|urgent end instance wanted healthy cost
--   renew      holder token instance
--   release    holder token
--   withdraw   holder operation
--   debit      recycles instance operation end
--   heartbeat  instance wanted healthy end
--   look
-- Answers, every number as text: {now, time to live of leases, credit, then
--   'granted', token | 'refused', why, retry_after | 'done' | 'view', ... as ledger_reply.cc reads it}
--
-- Numbers are doubles: whole ones are exact to 2^53 (microseconds until the year 2255). Operations are kept as text.
-- Cost: O(permits + members that are touched, by this question or by time) and about a dozen commands, with any number
-- of members; only `look` reads them all. `serving` and `wanted` are sums that every change keeps up.
-- It reads before it writes and cannot fail in between; a look writes nothing.
-- Keys that nobody used for a week expire: longer than leases, vanished instances and debts live (unless the bucket
-- takes longer than that to fill: then a forgotten ledger's is full too early, once). If the store evicts one of them,
-- what depended on it is forgotten as well.
local ledger_key, permits_key, members_key, heard_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local verb = ARGV[1]
local call, match, format, min, max = redis.call, string.match, string.format, math.min, math.max

-- As in fleet_policy.h and ledger.h; times in microseconds.
local VANISHED_AFTER, VANISHED_FOR = 15e6, 600e6
local ASK_AGAIN_ROUTINE, ASK_AGAIN_URGENT, LONGEST_HINT = 5e6, 200e3, 3600e6
local LONGEST_DEBT_HOURS = 24
local CREDIT_PER_TOKEN = 3.6e9
local MOST_INSTANCES = 4096
local KEPT_UNUSED = 7 * 24 * 3600 * 1000 -- milliseconds

local function number(text) return tonumber(text) or 0 end
local function whole(value) return format('%.0f', value) end
local function exact(value) return format('%.17g', value) end
local function keep(key) call('PEXPIRE', key, KEPT_UNUSED) end

-- Settings -----------------------------------------------------------------------------------------------------------
local function read_settings(text)
  local permits, ttl, rate, per, burst, minimum = match(text or '', '^(%d+) (%d+) (%S+) (%a+) (%d+) (%d+)$')
  if not permits then return nil end
  return {text = text, permits = number(permits), ttl = number(ttl), rate = number(rate), per = per,
          full = number(burst) * CREDIT_PER_TOKEN, minimum = number(minimum)}
end
local offered, offered_of, offered_since = read_settings(ARGV[4]), ARGV[2], min(number(ARGV[3]), now)
if not offered then return redis.error_reply('ERR moult: these settings are not understood') end

local head = call('HMGET', ledger_key, 'credit', 'refilled_at', 'fencing', 'settings', 'settings_of', 'settings_since',
                  'wanted', 'serving', 'present_after', 'count')
local credit, refilled_at, fencing = number(head[1]), number(head[2]), number(head[3])
local ruling, ruling_of, ruling_since = read_settings(head[4]), head[5] or '', number(head[6])
local wanted, serving, present_after, count = number(head[7]), number(head[8]), number(head[9]), number(head[10])

local function tokens_per_hour()
  if ruling.per ~= 'worker' then return ruling.rate end
  return ruling.rate * wanted
end

local function forget_settings_of(instance)
  if ruling_of == instance then ruling_since = 0 end
end

-- The instance whose settings rule may also correct its own time.
local function adopt()
  ruling_since = min(ruling_since, now)
  if offered_since < ruling_since and offered_of ~= ruling_of then return end
  ruling, ruling_of, ruling_since = offered, offered_of, offered_since
end

-- Members ------------------------------------------------------------------------------------------------------------
local function read_member(name, text)
  local its_wanted, healthy, why, at, debit, started, settings =
    match(text or '', '^(%d+) (%d+) (%S+) (%-?%d+) (%d+) (%-?%d+) (.*)$')
  if not its_wanted then return nil end
  return {name = name, wanted = number(its_wanted), healthy = number(healthy), why = why, at = at, debit = debit,
          started = started, settings = settings}
end
local function member_called(name) return read_member(name, call('HGET', members_key, name)) end
local function serves(member) return member and min(member.healthy, member.wanted) or 0 end
local function save(member)
  call('HSET', members_key, member.name, format('%.0f %.0f %s %s %s %s %s', member.wanted, member.healthy, member.why,
                                                member.at, member.debit, member.started, member.settings))
  keep(members_key)
end

local function forget(name, heard_at)
  local member = member_called(name)
  if member then
    wanted = wanted - member.wanted
    if heard_at > present_after then serving = serving - serves(member) end
  end
  count = count - 1
  call('HDEL', members_key, name)
  call('ZREM', heard_key, name)
  forget_settings_of(name)
end

-- Time has passed, in either direction: who vanished, who is back because the clock is, who is forgotten.
local function settle_members()
  if call('ZCARD', heard_key) ~= count or call('HLEN', members_key) ~= count then
    call('DEL', heard_key, members_key)
    wanted, serving, count, ruling_since = 0, 0, 0, 0
  end
  local before = present_after
  present_after = now - VANISHED_AFTER
  if count == 0 then return end
  if present_after > before then
    for _, name in ipairs(call('ZRANGEBYSCORE', heard_key, '(' .. whole(before), whole(present_after))) do
      serving = serving - serves(member_called(name))
    end
  elseif present_after < before then
    for _, name in ipairs(call('ZRANGEBYSCORE', heard_key, '(' .. whole(present_after), whole(before))) do
      serving = serving + serves(member_called(name))
    end
    for _, name in ipairs(call('ZRANGEBYSCORE', heard_key, '(' .. whole(now), '+inf')) do
      call('ZADD', heard_key, whole(now), name)
    end
  end
  local last = now - VANISHED_AFTER - VANISHED_FOR
  for _, name in ipairs(call('ZRANGEBYSCORE', heard_key, '-inf', whole(last))) do forget(name, last) end
end

-- Its record is for the caller to save.
local function hear(name, its_wanted, healthy)
  local member = member_called(name)
  if member then
    wanted = wanted - member.wanted
    if number(call('ZSCORE', heard_key, name)) > present_after then serving = serving - serves(member) end
  else
    if count >= MOST_INSTANCES then
      local longest_unheard = call('ZRANGE', heard_key, 0, 0, 'WITHSCORES')
      forget(longest_unheard[1], number(longest_unheard[2]))
    end
    count = count + 1
    member = {name = name, why = '-', at = '0', debit = '0'}
  end
  member.wanted, member.healthy = number(its_wanted), number(healthy)
  member.started, member.settings = whole(offered_since), offered.text
  wanted = wanted + member.wanted
  serving = serving + serves(member)
  call('ZADD', heard_key, whole(now), name)
  keep(heard_key)
  return member
end

-- Permits ------------------------------------------------------------------------------------------------------------
local permits = {} -- those that live; `changed` ones are not yet written as they are here
local ended = {}   -- tokens, to be removed

local function read_permits()
  local flat = call('HGETALL', permits_key)
  for i = 1, #flat, 2 do
    local operation, cost, granted_at, expires_at, length, names =
      match(flat[i + 1], '^(%d+) (%d+) (%-?%d+) (%-?%d+) (%d+) (.*)$')
    if operation then
      local holder = number(length)
      permits[#permits + 1] = {token = flat[i], operation = operation, cost = number(cost),
                               granted_at = number(granted_at), expires_at = number(expires_at),
                               holder = names:sub(1, holder), instance = names:sub(holder + 1)}
    end
  end
end

-- Those for which `ends` is true leave the table; how many.
local function end_permits(ends)
  local before = #permits
  local living = {}
  for _, permit in ipairs(permits) do
    if ends(permit) then ended[#ended + 1] = permit.token else living[#living + 1] = permit end
  end
  permits = living
  return before - #living
end

local function expire_permits()
  for _, permit in ipairs(permits) do
    local granted_at, expires_at = min(permit.granted_at, now), min(permit.expires_at, now + ruling.ttl)
    permit.changed = granted_at ~= permit.granted_at or expires_at ~= permit.expires_at
    permit.granted_at, permit.expires_at = granted_at, expires_at
  end
  end_permits(function(permit) return now >= permit.expires_at end)
end

local function add_permit(permit, granted_at)
  permit.granted_at, permit.expires_at, permit.changed = granted_at, now + ruling.ttl, true
  permits[#permits + 1] = permit
end

local function write_permits()
  if #ended > 0 then call('HDEL', permits_key, unpack(ended)) end
  for _, permit in ipairs(permits) do
    if permit.changed then
      call('HSET', permits_key, permit.token,
           format('%s %.0f %.0f %.0f %d ', permit.operation, permit.cost, permit.granted_at, permit.expires_at,
                  #permit.holder) .. permit.holder .. permit.instance)
      keep(permits_key)
    end
  end
end

-- Questions ----------------------------------------------------------------------------------------------------------
local function refill()
  if now > refilled_at then credit = min(ruling.full, credit + tokens_per_hour() * (now - refilled_at)) end
  refilled_at = now
end

-- How many of its own an instance has lost since it last spoke: not yet in what it said.
local function away(name, heard_at)
  local cost = 0
  for _, permit in ipairs(permits) do
    if permit.instance == name and permit.granted_at >= heard_at then cost = cost + permit.cost end
  end
  return cost
end

local function fleet_healthy()
  local healthy, seen = serving, {}
  for _, permit in ipairs(permits) do
    local name = permit.instance
    if not seen[name] then
      seen[name] = true
      local heard_at = tonumber(call('ZSCORE', heard_key, name) or nil) -- false: it is unknown
      if heard_at and heard_at > present_after then
        healthy = healthy - min(serves(member_called(name)), away(name, heard_at))
      end
    end
  end
  return healthy
end

local function below_minimum(cost)
  if ruling.minimum == 0 or cost == 0 then return false end
  local healthy = fleet_healthy()
  return healthy < cost or 100 * (healthy - cost) < ruling.minimum * wanted
end

-- The end of the first lease that must end before this is granted.
local function in_the_way(holder, routine)
  local counted, first = 0, nil
  for _, permit in ipairs(permits) do
    if routine or permit.holder ~= holder then
      counted = counted + 1
      first = min(first or permit.expires_at, permit.expires_at)
    end
  end
  return counted >= ruling.permits and first or nil
end

local function until_enough(routine)
  if ruling.per == 'unlimited' then return 0 end
  local least = CREDIT_PER_TOKEN - (routine and 0 or ruling.full)
  if credit >= least then return 0 end
  local rate = tokens_per_hour()
  return min(rate > 0 and math.ceil((least - credit) / rate) or math.huge, LONGEST_HINT)
end

local function objection(holder, routine, cost)
  local again = routine and ASK_AGAIN_ROUTINE or ASK_AGAIN_URGENT
  if below_minimum(cost) then return 'below_minimum', again end
  local ends = in_the_way(holder, routine)
  if ends then return 'lease_held', min(ends - now, again) end
  local wait = until_enough(routine)
  if wait > 0 then return 'no_tokens', wait end
end

local function say(...) return {whole(now), whole(ruling.ttl), exact(credit), ...} end
local function done() return say('done') end
local function refused(why, retry_after) return say('refused', why, whole(retry_after)) end

local answer = {}

function answer.acquire(operation, holder, urgency, ends, instance, its_wanted, healthy, cost)
  for _, permit in ipairs(permits) do
    if permit.holder == holder and permit.operation == operation then return say('granted', permit.token) end
  end
  local routine = urgency == 'routine'
  if now >= number(ends) then return refused('late', routine and ASK_AGAIN_ROUTINE or ASK_AGAIN_URGENT) end
  local member = hear(instance, its_wanted, healthy)
  save(member)
  local why, retry_after = objection(holder, routine, number(cost))
  if why then
    member.why, member.at = why, whole(now)
    save(member)
    return refused(why, retry_after)
  end
  fencing = max(fencing + 1, now, 0)
  if ruling.per ~= 'unlimited' then credit = credit - CREDIT_PER_TOKEN end
  add_permit({token = whole(fencing), operation = operation, cost = number(cost), holder = holder, instance = instance},
             now)
  return say('granted', whole(fencing))
end

function answer.renew(holder, token, instance)
  for _, permit in ipairs(permits) do
    if permit.holder == holder and permit.token == token then
      permit.expires_at, permit.changed = now + ruling.ttl, true
      return done()
    end
  end
  if number(token) <= fencing or #permits >= ruling.permits then return refused('late', 0) end
  fencing = number(token) -- this ledger was lost, and the holder puts its lease back
  add_permit({token = token, operation = '0', cost = 1, holder = holder, instance = instance}, min(fencing, now))
  return done()
end

function answer.release(holder, token)
  end_permits(function(permit) return permit.holder == holder and permit.token == token end)
  return done()
end

function answer.withdraw(holder, operation)
  local given_back = end_permits(function(permit) return permit.holder == holder and permit.operation == operation end)
  if ruling.per ~= 'unlimited' then credit = min(ruling.full, credit + given_back * CREDIT_PER_TOKEN) end
  return done()
end

function answer.debit(recycles, instance, operation, ends)
  if now >= number(ends) then return refused('late', 0) end
  local payer = operation ~= '0' and member_called(instance)
  if payer then
    if payer.debit == operation then return done() end
    payer.debit = operation
    save(payer)
  end
  if ruling.per == 'unlimited' then return done() end
  local deepest = -ruling.full - LONGEST_DEBT_HOURS * tokens_per_hour() * CREDIT_PER_TOKEN
  credit = max(min(credit, deepest), credit - number(recycles) * CREDIT_PER_TOKEN)
  return done()
end

function answer.heartbeat(instance, its_wanted, healthy, ends)
  if now >= number(ends) then return refused('late', 0) end
  save(hear(instance, its_wanted, healthy))
  return done()
end

-- As the ledger would be now, read from the members one by one and not from the sums.
local function look()
  local members, heard, healthy, sum = {}, {}, 0, 0
  local flat = call('ZRANGE', heard_key, 0, -1, 'WITHSCORES')
  for i = 1, #flat, 2 do heard[flat[i]] = min(number(flat[i + 1]), now) end
  flat = call('HGETALL', members_key)
  for i = 1, #flat, 2 do
    local member = read_member(flat[i], flat[i + 1])
    local heard_at = heard[flat[i]]
    if member and heard_at and now - heard_at < VANISHED_AFTER + VANISHED_FOR then
      members[#members + 1] = {member.name, whole(member.wanted), whole(member.healthy), whole(heard_at),
                               member.started, member.why, member.at, member.debit, member.settings}
      sum = sum + member.wanted
      if now - heard_at < VANISHED_AFTER then
        healthy = healthy + serves(member) - min(serves(member), away(member.name, heard_at))
      end
    else
      forget_settings_of(flat[i])
    end
  end
  wanted = sum
  local leases = {}
  for i, permit in ipairs(permits) do
    leases[i] = {permit.token, permit.operation, whole(permit.cost), whole(permit.granted_at),
                 whole(permit.expires_at), permit.holder, permit.instance}
  end
  return say('view', exact(tokens_per_hour()), whole(wanted), whole(healthy), ruling.text, ruling_of,
             whole(ruling_since), leases, members)
end

if not ruling then -- a new ledger: the first who asks rules, and the bucket is full
  ruling, ruling_of, ruling_since, credit, refilled_at = offered, offered_of, offered_since, offered.full, now
  if verb ~= 'look' then call('DEL', permits_key, members_key, heard_key) end
  wanted, serving, count = 0, 0, 0
end
read_permits()
refill() -- at the rate that held until now
if verb == 'look' then
  expire_permits()
  return look()
end
if not answer[verb] then return redis.error_reply('ERR moult: an unknown question') end
settle_members()
adopt()
expire_permits()
local said = answer[verb](unpack(ARGV, 5))
write_permits()
call('HSET', ledger_key, 'credit', exact(credit), 'refilled_at', whole(refilled_at), 'fencing', whole(fencing),
     'settings', ruling.text, 'settings_of', ruling_of, 'settings_since', whole(ruling_since), 'wanted', whole(wanted),
     'serving', whole(serving), 'present_after', whole(present_after), 'count', whole(count))
keep(ledger_key)
return said
