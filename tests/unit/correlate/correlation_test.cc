// Do errors come near recycles? On the incident's files, on thousands of shuffled ones, and on too few.
#include "tools/correlate/correlation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "base/random.h"
#include "tools/correlate/canary.h"
#include "tools/correlate/timeline.h"
#include "tools/event_history/read_history.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;
using Times = std::vector<WallTime>;

std::string fixture(const char* name) {
  return std::filesystem::path(__FILE__).parent_path() / "../../fixtures" / name;
}
const History& incident() {
  static const History history = *read_history({fixture("incident-events.jsonl")});
  return history;
}
const Times& recycles_of_the_incident() {
  static const Times times = [] {
    Times all;
    for (const RecycleLine& recycle : incident().recycles) all.push_back(recycle.at);
    return all;
  }();
  return times;
}
const Canary& canary() {
  static const Canary read = *read_canary(fixture("incident-canary.jsonl"));
  return read;
}
Correlation correlated(const Times& recycles, const Times& errors, const CorrelationSettings& settings = {}) {
  return correlate(recycles, errors, incident().first, incident().last, settings);
}
Times sorted(Times times) {
  std::ranges::sort(times);
  return times;
}
const Duration day = incident().last - incident().first;

TEST(Correlation, TheIncidentsErrorsComeNearRecycles) {
  const Correlation found = correlated(recycles_of_the_incident(), canary().times);
  EXPECT_EQ(found.recycles, 90u);
  EXPECT_EQ(found.errors, 20u);
  EXPECT_EQ(found.within, 20u);
  EXPECT_LT(found.p, 0.01);
  EXPECT_GT(found.lift(), 5);
  EXPECT_EQ(found.permutations, 9'999u);
  EXPECT_TRUE(found.is_significant());
}

TEST(Correlation, AnySeedSaysSoAndTheSameSeedTheSame) {
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    const CorrelationSettings settings{.seed = seed};
    const double p = correlated(recycles_of_the_incident(), canary().times, settings).p;
    EXPECT_LT(p, 0.01) << seed;
    EXPECT_EQ(p, correlated(recycles_of_the_incident(), canary().times, settings).p);
  }
}

// At most 2 % of 1,000 logs in which nothing binds errors and recycles are called significant at 0.01.
void expect_few_false_alarms(const std::function<std::pair<Times, Times>(Random&)>& shuffled) {
  Random random{2026};
  unsigned alarms = 0;
  for (std::uint64_t log = 0; log < 1'000; ++log) {
    const auto [recycles, errors] = shuffled(random);
    alarms += correlated(recycles, errors, {.permutations = 1'999, .seed = log}).is_significant();
  }
  EXPECT_LE(alarms, 20u);
}

Times scattered(std::size_t count, Random& random) {
  Times times;
  while (times.size() < count) times.push_back(incident().first + random.up_to(day));
  return sorted(times);
}
Times moved(Times times, Duration by) {
  for (WallTime& at : times) at = at + by < incident().last ? at + by : at + by - day;
  return sorted(times);
}

TEST(Correlation, ErrorsScatteredOverTheLogRaiseFewFalseAlarms) {
  expect_few_false_alarms([](Random& random) { return std::pair(recycles_of_the_incident(), scattered(20, random)); });
}

TEST(Correlation, TheErrorsBurstMovedElsewhereRaisesFewFalseAlarms) {
  expect_few_false_alarms(
      [](Random& random) { return std::pair(recycles_of_the_incident(), moved(canary().times, random.up_to(day))); });
}

TEST(Correlation, RecyclesWhoseGapsAreShuffledRaiseFewFalseAlarms) {
  expect_few_false_alarms([](Random& random) {
    std::vector<Duration> gaps;
    for (std::size_t i = 1; i < recycles_of_the_incident().size(); ++i)
      gaps.push_back(recycles_of_the_incident()[i] - recycles_of_the_incident()[i - 1]);
    for (std::size_t i = gaps.size(); i > 1; --i) std::swap(gaps[i - 1], gaps[random.next() % i]);
    Times recycles{incident().first};
    for (const Duration gap : gaps) recycles.push_back(recycles.back() + gap);
    return std::pair(recycles, moved(canary().times, random.up_to(day)));
  });
}

TEST(Correlation, ThreeRecyclesAndTwoErrorsAreTooFew) {
  const Times errors(canary().times.begin(), canary().times.begin() + 2);
  const Correlation few =
      correlated({recycles_of_the_incident().begin(), recycles_of_the_incident().begin() + 3}, errors);
  EXPECT_THAT(few.too_few, HasSubstr("3 recycles and 2 errors"));
  EXPECT_FALSE(few.is_significant());
}

TEST(Correlation, FiveOfEachAreEnough) {
  const auto some = [](std::size_t recycles, std::size_t errors) {
    const auto& r = recycles_of_the_incident();
    const auto& e = canary().times;
    return correlated({r.end() - static_cast<std::ptrdiff_t>(recycles), r.end()},
                      {e.begin(), e.begin() + static_cast<std::ptrdiff_t>(errors)}, {.permutations = 999})
        .too_few;
  };
  EXPECT_EQ(some(5, 5), "");
  EXPECT_NE(some(4, 5), "");
  EXPECT_NE(some(5, 4), "");
}

TEST(Correlation, OfALogThatIsShortAgainstTheWindowNothingIsSaid) {
  const WallTime start(1'788'000'000s);
  const Times times = {start, start + 1s, start + 2s, start + 3s, start + 4s};
  const auto of_length = [&](Duration length) { return correlate(times, times, start, start + length, {}).too_few; };
  EXPECT_THAT(of_length(17min), HasSubstr("spans 19 times the window"));
  EXPECT_EQ(of_length(18min), "");  // and one window more at both ends
}

TEST(Correlation, OfALogThatIsSilentForMoreThanNineTenthsNothingIsSaid) {
  const WallTime wrong(0s);  // a clock that was not set yet, for one line
  const Correlation c = correlate(recycles_of_the_incident(), canary().times, wrong, incident().last, {});
  EXPECT_TRUE(c.is_significant()) << "as anything would be";
  EXPECT_THAT(too_silent(c, wrong + 1h, incident().first), HasSubstr("a clock was wrong"));
  const Correlation whole = correlated(recycles_of_the_incident(), canary().times);
  EXPECT_EQ(too_silent(whole, incident().first, incident().first + 20h), "");
  EXPECT_NE(too_silent(whole, incident().first, incident().first + 21h), "");
}

TEST(Correlation, AnErrorIsNearOnBothSidesOfARecycle) {
  const WallTime start(1'788'000'000s);
  const Times recycles = {start + 1h, start + 2h, start + 3h, start + 4h, start + 5h};
  const Times errors = {start + 1h - 60s, start + 2h + 60s, start + 3h - 61s, start + 4h + 61s, start + 5h};
  EXPECT_EQ(correlate(recycles, errors, start, start + 6h, {}).within, 3u);
}

TEST(Correlation, ErrorsOutsideTheLogAreLeftOut) {
  Times errors = canary().times;
  errors.push_back(incident().last + 1h);
  errors.insert(errors.begin(), incident().first - 1h);
  const Correlation found = correlated(recycles_of_the_incident(), errors);
  EXPECT_EQ(found.errors, 20u);
  EXPECT_EQ(found.errors_outside, 2u);
}

TEST(Correlation, PIsNeverZero) {  // the log as it was is one of those that chance may make
  Random random{3};
  const Times both = scattered(20, random);
  EXPECT_EQ(correlated(both, both, {.window = 1s}).p, 1.0 / 10'000);
}

TEST(Correlation, ChanceMovesErrorsAnywhereInTheLog) {
  const WallTime start(1'788'000'000s);
  Times recycles, errors;
  for (int i = 0; i < 5; ++i) {
    recycles.push_back(start + 9h + i * 10min);
    errors.push_back(start + 1h + i * 1s);
  }
  const Correlation found = correlate(recycles, errors, start, start + 10h, {});
  EXPECT_NEAR(found.expected, 5 * 5 * 120.0 / 36'120, 0.05);  // five errors, and how much of the log is near a recycle
}

TEST(Correlation, OfVeryManyErrorsFewerPermutationsAreMade) {
  Random random{1};
  const Correlation found = correlated(recycles_of_the_incident(), scattered(25'000, random));
  EXPECT_EQ(found.permutations, 2'000u);
  EXPECT_FALSE(found.is_significant());
}

TEST(Timeline, HasAPageOfStepsAndCountsEach) {
  const Correlation found = correlated(recycles_of_the_incident(), canary().times);
  const Timeline rows = timeline(recycles_of_the_incident(), canary().times, found.from, found.to);
  EXPECT_EQ(rows.step, Duration(30min));
  EXPECT_LE(rows.rows.size(), most_rows);
  std::size_t recycles = 0, errors = 0;
  for (const TimelineRow& row : rows.rows) {
    recycles += row.recycles;
    errors += row.errors;
  }
  EXPECT_EQ(recycles, 90u);
  EXPECT_EQ(errors, 20u);
  EXPECT_THAT(lines_of(rows), testing::Contains(HasSubstr("2026-08-29T20:00")));
}

TEST(Timeline, OfYearsHasAPageToo) {
  const WallTime start(1'700'000'000s);
  const Timeline rows = timeline({start}, {}, start, start + 24h * 365 * 200);
  EXPECT_LE(rows.rows.size(), most_rows);
  EXPECT_EQ(lines_of(rows).size(), 3u);
}
}  // namespace
}  // namespace moult
